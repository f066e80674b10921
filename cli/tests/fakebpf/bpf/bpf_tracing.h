/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stands in for libbpf's header: a program is a function that a test calls. */
#ifndef FAKE_BPF_TRACING_H
#define FAKE_BPF_TRACING_H

#define BPF_PROG(name, arguments...) name(void *ctx, ##arguments)

#endif
