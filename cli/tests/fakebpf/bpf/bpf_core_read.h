/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for libbpf's header. */
#ifndef FAKE_BPF_CORE_READ_H
#define FAKE_BPF_CORE_READ_H

#define BPF_CORE_READ(from, member) ((from)->member)

#endif
