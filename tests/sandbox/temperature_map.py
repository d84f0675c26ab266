"""Prints the GeoTIFF of the sandbox: temperature_map.py STATIONS_JSON (pip install tifffile).

The mean temperature at the stations, interpolated by inverse squared distance, in compressed tiles,
so that a reader can fetch a window.
"""

import io
import json
import sys

import numpy
import tifffile

SIDE, TILE, PER_DEGREE = 256, 32, 32
WEST, NORTH = 7.5, 54.5

stations = json.loads(sys.argv[1])
longitude = WEST + (numpy.arange(SIDE) + 0.5) / PER_DEGREE
latitude = NORTH - (numpy.arange(SIDE)[:, None] + 0.5) / PER_DEGREE
weights = [
    1 / ((each["longitude"] - longitude) ** 2 + (each["latitude"] - latitude) ** 2 + 1e-6)
    for each in stations
]
celsius = sum(w * each["celsius"] for w, each in zip(weights, stations)) / sum(weights)

file = io.BytesIO()
tifffile.imwrite(
    file,
    celsius.round(1).astype("float32"),
    tile=(TILE, TILE),
    compression="zlib",
    metadata=None,
    software=False,
    extratags=[
        (33550, 12, 3, (1 / PER_DEGREE, 1 / PER_DEGREE, 0), True),  # size of a pixel
        (33922, 12, 6, (0, 0, 0, WEST, NORTH, 0), True),  # corner of the first pixel
        # Geographic coordinates, a pixel is an area, WGS 84.
        (34735, 3, 16, (1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326), True),
    ],
)
sys.stdout.buffer.write(file.getvalue())
