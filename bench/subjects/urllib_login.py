"""A login and one call with Python's own library."""
import base64
import hashlib
import hmac
import json
import os
import urllib.request

env = os.environ
message = (env["USERNAME"] + env["APP_CLIENT_ID"]).encode()
mac = hmac.new(env["APP_CLIENT_SECRET"].encode(), message, hashlib.sha256).digest()
body = {
    "AuthFlow": "USER_PASSWORD_AUTH",
    "ClientId": env["APP_CLIENT_ID"],
    "UserPoolId": env["USER_POOL_ID"],
    "AuthParameters": {
        "USERNAME": env["USERNAME"],
        "PASSWORD": env["PASSWORD"],
        "SECRET_HASH": base64.b64encode(mac).decode(),
    },
}
headers = {
    "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
    "Content-Type": "application/x-amz-json-1.1",
}
request = urllib.request.Request(env["AUTH_URL"], json.dumps(body).encode(), headers)
with urllib.request.urlopen(request) as response:
    tokens = json.load(response)["AuthenticationResult"]
call = urllib.request.Request(
    env["API_BASE_URL"] + "/v1/whoami",
    headers={"authorization": "bearer " + tokens["AccessToken"]},
)
with urllib.request.urlopen(call) as response:
    json.load(response)
