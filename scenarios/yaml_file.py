"""Reading the YAML files that users write, with mistakes in words that say where to look."""

from pathlib import Path
from typing import Any

import yaml


def read_yaml(path: str | Path) -> Any:
    """Return what a YAML (or JSON) file holds.

    Raises ValueError that names the file, and the line where there is one: for a file that cannot be
    read, is not UTF-8, is not valid YAML, or gives a key twice, of which YAML itself would silently keep
    the last.
    """
    try:
        return yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8 text; save it as UTF-8") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: {_mistake(error)}") from None


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, which refuses a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"the key {key.value!r} is given twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _mistake(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1} is not valid YAML: {error.problem}"
    return f"is not valid YAML: {error}"
