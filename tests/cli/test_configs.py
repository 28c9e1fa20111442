"""Configs that versions of transformers read differently, against figures of transformers 4.57 and
5.24 (tests/golden/configs.safetensors): each is measured as transformers 5 runs it, with a notice where
transformers 4 computes other numbers, or refused by the name of its field."""

import json
from typing import Any

from tests.cli.command import CommandTest
from tests.golden.catalogue.configs import CASES, NOTICES, REFUSED
from tests.golden.golden_file import Golden, read_family

FIGURES = read_family("configs")

FOLLOWED = "read as transformers 5 does, not as transformers 4 does"
# The versions differ, and no notice is due: the config says which version wrote it.
SAYS_ITSELF = {"llama-parameters-of-5"}


def differ(old: Golden, new: Golden) -> bool:
    """Whether both versions run the config, with other numbers."""
    return "loss" in old and "loss" in new and abs(old["loss"] - new["loss"]) > 1e-9


class Configs(CommandTest):
    def test_the_table_says_where_the_versions_differ(self) -> None:
        self.assertEqual({case.name for case in CASES}, FIGURES.keys())
        found = {name for name, row in FIGURES.items() if differ(row["4.57"], row["5.24"])}
        self.assertEqual(found - REFUSED.keys(), NOTICES.keys() | SAYS_ITSELF)

    def test_each_is_that_of_transformers_5_or_refused(self) -> None:
        for case in CASES:
            with self.subTest(case.name):
                folder = self.folder / case.name
                case.write(folder)
                ids = self.write(f"{case.name}.ids", " ".join(map(str, case.token_ids())))
                out = f"{case.name}-out"
                command = ("scan", folder, "--tokens", ids, "--lengths", case.tokens, "--out", out)
                if case.name in REFUSED:
                    code, says = REFUSED[case.name]
                    self.refuse(code, *command, says=says)
                    if "field" in says:
                        self.refuse(code, "inspect", folder, says=says)
                    continue
                self.succeed(*command, "--measures", "weights,model", "--threads", 1)
                self.compare(case.name, json.loads((self.folder / out / "results.json").read_text()))

    def test_a_version_of_another_type_is_none(self) -> None:
        case = next(case for case in CASES if case.name == "llama-parameters-of-5")
        case.write(self.folder / "model")
        ids = self.write("ids", " ".join(map(str, case.token_ids())))
        path = self.folder / "model/config.json"
        config = json.loads(path.read_text())
        for version in (5, 5.24, None, ["5.24.0"], {}, True):
            path.write_text(json.dumps(config | {"transformers_version": version}))
            self.succeed(
                "scan", "model", "--tokens", ids, "--lengths", case.tokens, "--out", "out", "--force"
            )
            notices = self.read("out/results.json")["notices"]
            self.assertIn(f"rope_parameters: {FOLLOWED}", notices)

    def compare(self, name: str, results: dict[str, Any]) -> None:
        expected = FIGURES[name]["5.24"]
        self.assertAlmostEqual(results["metrics"]["loss"]["values"][0][-1], expected["loss"], delta=2e-5)
        found = results["metrics"]["entropy_with_sinks"]["values"]
        for layer, values in zip(found, expected["entropy"], strict=True):
            for head, value in zip(layer, values, strict=True):
                self.assertAlmostEqual(head[-1], value, delta=2e-5)
        said = [notice for notice in results["notices"] if FOLLOWED in notice]
        if "error" in FIGURES[name]["4.57"]:  # nothing to choose: a notice may be there
            return
        self.assertEqual(len(said), int(name in NOTICES), said)
        for notice in said:
            self.assertTrue(notice.startswith(NOTICES[name]), notice)
