"""Runs cells on a real Deno kernel, by Debian's jupyter_client.

    python3 client.py COMMAND...

Reads orders from standard input and writes events to standard output, each as a line of JSON:

    {"run": code, "stdin": bool}    {"cell": 1, "outputs": [...]} whenever they change,
                                    then {"cell": 1, "reply": {...}}
    {"value": text}                 answers {"cell": 1, "input": {"prompt": ..., "password": ...}}
    {"interrupt": true}             what Stop does
    the end of the input            {"ended": how}, also if the kernel ends by itself
"""

import asyncio
import json
import os
import signal
import sys
import tempfile

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbformat.v4 import output_from_msg


def emit(**event):
    print(json.dumps(event), flush=True)


class Cells:
    """The outputs of all cells by the id of their request. Late outputs still reach their cell."""

    def __init__(self):
        self.cells, self.numbers, self.displays = {}, {}, {}

    def open(self, request, number):
        self.cells[request], self.numbers[request] = [], number

    def accept(self, message):
        kind, content = message["msg_type"], message["content"]
        display = content.get("transient", {}).get("display_id")
        if kind == "update_display_data":
            for request, output in self.displays.get(display, []):
                output.update(data=content["data"], metadata=content["metadata"])
                self.emit(request)
            return
        request = message["parent_header"].get("msg_id")
        outputs = self.cells.get(request)
        if outputs is None:
            return
        if kind == "clear_output":
            outputs.clear()
        elif kind in ("stream", "display_data", "execute_result", "error"):
            output = dict(output_from_msg(message))
            if display:
                self.displays.setdefault(display, []).append((request, output))
            self.append(outputs, output)
        else:
            return
        self.emit(request)

    @staticmethod
    def append(outputs, output):
        # Under load, the kernel may send printed text after the error or the value of the cell. These
        # stay last, so that the order is always the same.
        is_stream = output["output_type"] == "stream"
        ended = outputs and outputs[-1]["output_type"] in ("error", "execute_result")
        at = len(outputs) - 1 if ended and is_stream else len(outputs)
        before = outputs[at - 1] if at else {}
        if is_stream and before.get("name") == output["name"]:
            before["text"] += output["text"]
        else:
            outputs.insert(at, output)

    def emit(self, request):
        emit(cell=self.numbers[request], outputs=self.cells[request])


class Session:
    def __init__(self, manager):
        self.manager, self.client, self.cells = manager, manager.client(), Cells()
        self.idle, self.replies, self.messages, self.number = {}, {}, 0, 0

    async def start(self):
        self.client.start_channels()
        self.client.kernel_info()
        await self.client.get_shell_msg()
        self.tasks = [asyncio.create_task(each()) for each in (self.iopub, self.shell, self.stdin)]
        # Output that the kernel publishes before the subscription arrives is lost, so ask until some arrives.
        while self.messages == 0:
            self.client.kernel_info()
            await asyncio.sleep(0.1)
        await self.silence()
        emit(ready=True)

    async def iopub(self):
        while True:
            message = await self.client.get_iopub_msg()
            self.messages += 1
            if message["msg_type"] != "status":
                self.cells.accept(message)
            elif message["content"]["execution_state"] == "idle":
                self.future(self.idle, message["parent_header"].get("msg_id")).set_result(None)

    async def shell(self):
        while True:
            message = await self.client.get_shell_msg()
            if message["msg_type"] == "execute_reply":
                request = message["parent_header"].get("msg_id")
                self.future(self.replies, request).set_result(message["content"])

    async def stdin(self):
        while True:
            content = (await self.client.get_stdin_msg())["content"]
            emit(cell=self.number, input={key: content[key] for key in ("prompt", "password")})

    @staticmethod
    def future(futures, request):
        return futures.setdefault(request, asyncio.get_running_loop().create_future())

    async def silence(self):
        # In two steps: after a timer that fires late, waiting messages are read before the next look.
        seen = -1
        while seen != self.messages:
            seen = self.messages
            await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)

    async def run(self, code, stdin):
        self.number = number = self.number + 1
        request = self.client.execute(code, allow_stdin=stdin)
        self.cells.open(request, number)
        reply = await self.future(self.replies, request)
        await self.future(self.idle, request)
        # Other threads of the kernel may send a cell's output after "idle". When the kernel is idle
        # a second time, each of them has sent it.
        await self.future(self.idle, self.client.execute("", silent=True, store_history=False))
        await self.silence()
        emit(cell=number, reply=reply)


async def orders(session):
    reader = asyncio.StreamReader(limit=2**26)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        order = json.loads(line)
        if "run" in order:
            session.tasks.append(asyncio.create_task(session.run(order["run"], order["stdin"])))
        elif "value" in order:
            session.client.input(order["value"])
        else:
            await session.manager.interrupt_kernel()


async def main(command):
    with tempfile.TemporaryDirectory() as folder, open(f"{folder}/stderr", "w+") as stderr:
        manager = AsyncKernelManager(connection_file=f"{folder}/connection.json")
        manager._kernel_spec = KernelSpec(
            argv=[*command, "{connection_file}"], display_name="Deno", language="typescript"
        )
        await manager.start_kernel(cwd=os.getcwd(), stderr=stderr)
        process = manager.provisioner.process
        session = Session(manager)

        async def until_ended():
            while process.poll() is None:
                await asyncio.sleep(0.02)

        ended = asyncio.create_task(until_ended())
        try:
            starting = asyncio.create_task(session.start())
            await asyncio.wait(
                [starting, ended], timeout=60, return_when=asyncio.FIRST_COMPLETED
            )
            if starting.done():
                starting.result()
                reading = asyncio.create_task(orders(session))
                await asyncio.wait([reading, ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            code = process.poll()
            if code is None:
                await manager.shutdown_kernel(now=True)
            else:
                stderr.seek(0)
                error = "AddrInUse" if "AddrInUse" in stderr.read() else f"exit status {code}"
                emit(ended=signal.Signals(-code).name if code < 0 else error)
            session.client.stop_channels()


asyncio.run(main(sys.argv[1:]))
