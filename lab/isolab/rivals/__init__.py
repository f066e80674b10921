# SPDX-License-Identifier: GPL-2.0-or-later
"""Experiments that set Isolator's instruments beside others."""
