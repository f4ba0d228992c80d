"""Plug-ins: agents from other people's code, by ``module:object`` or by entry point name.

The object is an agent class, a factory that returns an agent, or an agent itself. An agent needs one
method, ``begin(role, brief, rng)``; identity is worked out here, and ``deterministic`` is False unless
the agent says otherwise. Modules are looked up as Python does, and last in the current directory.
"""

import hashlib
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from agents.agent import Brief, Negotiator
from agents.spec import AgentSpec
from scenarios.canonical import canonical
from scenarios.scenario import Role

GROUP = "bargaining_arena.agents"
"""The entry point group in which an installed distribution offers its agents."""


class PluginError(ValueError):
    """A plug-in that cannot be used; the message says why and what to do."""


class PluginAgent:
    """Someone's agent under the identity that this project gives it."""

    def __init__(self, spec: AgentSpec, inner: Any) -> None:
        self.spec = spec
        self.deterministic = getattr(inner, "deterministic", False) is True
        self._inner = inner

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        """Return the plug-in's negotiator for one match."""
        return self._inner.begin(role, brief, rng)  # type: ignore[no-any-return]


def plugin_spec(target: str, parameters: Mapping[str, Any] | None = None) -> AgentSpec:
    """Return the identity of the plug-in that `target` names, and check that it loads.

    `target` is ``module:object`` or the name of an entry point in GROUP; `parameters` are keyword
    arguments of its class or factory. Raises PluginError.
    """
    given = dict(parameters or {})
    try:
        canonical(given)
    except (TypeError, ValueError):
        raise PluginError(f"the parameters of {target} must be plain JSON values") from None
    place = target if ":" in target else _entry_point(target).value
    module, found = _resolve(place)
    _make(place, found, given)
    return AgentSpec(
        kind="plugin",
        target=place,
        parameters=given,
        distribution=_distribution(module),
        source_hash=source_hash(module),
    )


def load_plugin(spec: AgentSpec) -> PluginAgent:
    """Return the agent of a plug-in's spec. Raises PluginError, also where its source has changed."""
    target = spec.target or ""
    module, found = _resolve(target)
    if spec.source_hash is not None and source_hash(module) != spec.source_hash:
        raise PluginError(
            f"the source of {target} has changed since it was registered; register it again, which "
            "makes a new version"
        )
    return PluginAgent(spec, _make(target, found, spec.parameters))


def source_hash(module: ModuleType) -> str:
    """Return 32 hexadecimal digits of the module's source: its file, or every .py file in and under
    its folder where it belongs to a package. Raises PluginError for a module without a file."""
    if module.__file__ is None:
        raise PluginError(f"module {module.__name__} has no source file, so nothing pins its version")
    file = Path(module.__file__)
    files = sorted(file.parent.rglob("*.py")) if module.__package__ else []
    content = hashlib.sha256()
    for path in files or [file]:
        content.update(path.relative_to(file.parent).as_posix().encode() + b"\0")
        content.update(hashlib.sha256(path.read_bytes()).digest())
    return content.hexdigest()[:32]


def _entry_point(name: str) -> EntryPoint:
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        offered = ", ".join(sorted(known)) or "none"
        raise PluginError(
            f"{name!r} is neither module:object nor an installed agent (installed: {offered})"
        )
    return known[name]


def _resolve(target: str) -> tuple[ModuleType, Any]:
    name, _, path = target.partition(":")
    if not name or not path:
        raise PluginError(f"a plug-in is named as module:object, such as my_bot:Agent, not {target!r}")
    found: Any = (module := _import(name, target))
    for part in path.split("."):
        if not hasattr(found, part):
            raise PluginError(f"module {name} ({module.__file__}) has no {path!r}")
        found = getattr(found, part)
    return module, found


def _import(name: str, target: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        # Last, so that a folder that happens to be named like a library never hides it.
        sys.path.append(here)
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise PluginError(
                f"there is no module {error.name!r} for {target}; install it, or go to the folder "
                "that holds it"
            ) from None
        raise PluginError(f"importing {name} failed: {error}; install what it needs") from error
    except (Exception, SystemExit) as error:
        raise PluginError(f"importing {name} failed: {type(error).__name__}: {error}") from error


def _make(target: str, found: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the agent: `found` itself, or what it returns when called with `parameters`."""
    agent = found
    if isinstance(found, type) or not hasattr(found, "begin"):
        if not callable(found):
            raise PluginError(f"{target} is not an agent: it has no begin(role, brief, rng)")
        try:
            agent = found(**parameters)
        except (Exception, SystemExit) as error:
            raise PluginError(
                f"{target} could not be made with parameters {canonical(dict(parameters))}: "
                f"{type(error).__name__}: {error}"
            ) from error
    elif parameters:
        raise PluginError(f"{target} is an agent already made, so it takes no parameters")
    if not callable(getattr(agent, "begin", None)):
        raise PluginError(f"{target} is not an agent: it has no begin(role, brief, rng)")
    return agent


def _distribution(module: ModuleType) -> str | None:
    """Return ``name==version`` of the distribution that installed the module, where one did."""
    names = packages_distributions().get(module.__name__.partition(".")[0], ())
    return f"{names[0]}=={version(names[0])}" if names else None
