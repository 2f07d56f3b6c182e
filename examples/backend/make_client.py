"""Write a Python client from a service's OpenAPI document: `make_client.py URL client.py`.

A function for each operation with a JSON body, with its fields as arguments. Needs Python alone.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

_TYPES = {
    "array": "list[Any]", "boolean": "bool", "integer": "int", "number": "float",
    "object": "dict[str, Any]", "string": "str",
}  # fmt: skip
_HEAD = '''"""Written by make_client.py from {url}/openapi.json."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

URL = {url!r}


def _post(path: str, asked: dict[str, Any]) -> Any:
    body = json.dumps({{name: value for name, value in asked.items() if value is not None}})
    headers = {{"content-type": "application/json"}}
    request = urllib.request.Request(URL + path, body.encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
'''


def functions(document: dict[str, Any]) -> list[str]:
    """The source of a function for each operation that takes a JSON object with known fields."""
    found = []
    for path, methods in document["paths"].items():
        asked = methods.get("post", {}).get("requestBody", {}).get("content", {})
        schema = asked.get("application/json", {}).get("schema", {})
        if "properties" not in schema or "security" in methods["post"]:
            continue
        needed = schema.get("required", [])
        arguments = [f"{name}: {_type(schema['properties'][name])}" for name in needed]
        arguments += [
            f"{name}: {_type(of)} | None = None"
            for name, of in schema["properties"].items()
            if name not in needed
        ]
        name, told = path.rsplit("/", 1)[-1].replace("-", "_"), methods["post"]["summary"]
        found.append(
            f"\n\ndef {name}({', '.join(arguments)}) -> dict[str, Any]:\n"
            f'    """{told}."""\n'
            f"    return _post({path!r}, dict(locals()))\n"
        )
    return found


def _type(schema: dict[str, Any]) -> str:
    return _TYPES.get(schema.get("type", ""), "Any")


def main(url: str, target: str) -> None:
    """Fetch the document and write the client."""
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        document = json.load(answer)
    Path(target).write_text(_HEAD.format(url=url) + "".join(functions(document)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
