# SPDX-License-Identifier: GPL-2.0-or-later
"""The interference matrix: triggers against configurations."""
