"""A login with boto3 and one call."""
import base64
import hashlib
import hmac
import json
import os
import urllib.request

import boto3
from botocore import UNSIGNED
from botocore.config import Config

env = os.environ
message = (env["USERNAME"] + env["APP_CLIENT_ID"]).encode()
mac = hmac.new(env["APP_CLIENT_SECRET"].encode(), message, hashlib.sha256).digest()
client = boto3.client(
    "cognito-idp",
    region_name="eu-central-1",
    endpoint_url=env["AUTH_URL"],
    config=Config(signature_version=UNSIGNED),
)
tokens = client.initiate_auth(
    AuthFlow="USER_PASSWORD_AUTH",
    ClientId=env["APP_CLIENT_ID"],
    AuthParameters={
        "USERNAME": env["USERNAME"],
        "PASSWORD": env["PASSWORD"],
        "SECRET_HASH": base64.b64encode(mac).decode(),
    },
)["AuthenticationResult"]
call = urllib.request.Request(
    env["API_BASE_URL"] + "/v1/whoami",
    headers={"authorization": "bearer " + tokens["AccessToken"]},
)
with urllib.request.urlopen(call) as response:
    json.load(response)
