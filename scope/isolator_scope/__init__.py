# SPDX-License-Identifier: GPL-2.0-or-later
"""The instrument: it measures a machine's answers from outside."""
