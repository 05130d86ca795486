"""gmn as an agent of Terminal-Bench 2, with Harbor (https://harborframework.com/docs/agents):

    harbor run -d terminal-bench@2.0 --agent-import-path terminal_bench:GmnAgent -m google/gemini-3-flash-preview

It was never scored by us, nor run with Harbor itself: only against a stand-in of the two classes it imports.
GMN_PACKAGE is what npm installs: the git address and commit of a repository of gmn, or a package made of it.
"""

import json
import os
import shlex

from harbor.agents.base import BaseAgent

NODE = "https://nodejs.org/dist/v22.21.1/node-v22.21.1-linux-x64.tar.gz"


class GmnAgent(BaseAgent):
    @staticmethod
    def name() -> str:
        return "gmn"

    def version(self) -> str | None:
        return os.environ.get("GMN_PACKAGE")

    async def setup(self, environment) -> None:
        package = shlex.quote(os.environ["GMN_PACKAGE"])
        node = f"command -v node || curl -fsSL {NODE} | tar -xz -C /usr/local --strip-components=1"
        result = await environment.exec(f"({node}) && npm install --global {package}")
        if result.return_code != 0:
            raise RuntimeError(f"gmn was not installed: {result.stderr}")

    async def run(self, instruction, environment, context) -> None:
        flags = "--tools all --yolo --max-turns 200 -t 0 -o json"
        if self.model_name:
            flags += f" -m {shlex.quote(self.model_name.split('/')[-1])}"
        # The container is thrown away afterwards: everything may run in it. The prompt is data, whatever it begins with.
        command = f"gmn {flags} -- {shlex.quote(instruction)}"
        result = await environment.exec(command, env={"GEMINI_API_KEY": os.environ["GEMINI_API_KEY"]})
        try:
            answer = json.loads(result.stdout)
        except (TypeError, ValueError):
            raise RuntimeError(f"gmn gave no answer: {result.stderr}")
        usage = answer.get("usage", {})
        context.n_input_tokens = usage.get("promptTokenCount")
        context.n_output_tokens = usage.get("candidatesTokenCount")
        context.cost_usd = answer.get("cost")
