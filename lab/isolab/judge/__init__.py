# SPDX-License-Identifier: GPL-2.0-or-later
"""Attempts: which count, what they show, and what makes one void."""
