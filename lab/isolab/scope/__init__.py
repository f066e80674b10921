# SPDX-License-Identifier: GPL-2.0-or-later
"""The scope in guests: triggers from outside, answers, their judgement."""
