# SPDX-License-Identifier: GPL-2.0-or-later
"""A simulated generator and target, for tests and demonstrations without either."""
