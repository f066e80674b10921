# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of tools/ as modules: they have no .py in their names."""

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType

from steps import ROOT


def load(name: str) -> ModuleType:
    """tools/@name, read anew."""
    loader = SourceFileLoader(name, str(ROOT / "tools" / name))
    spec = spec_from_loader(name, loader)
    assert spec
    module = module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look for their types
    loader.exec_module(module)
    return module
