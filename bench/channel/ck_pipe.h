/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Concurrency Kit's ring behind three functions, for C++. */
#ifndef BENCH_CHANNEL_CK_PIPE_H
#define BENCH_CHANNEL_CK_PIPE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CK_PIPE_SLOTS	1024

struct ck_message {
	uint64_t words[7];
};

struct ck_pipe;

/* What a ck_pipe takes; it is aligned to 64 bytes. */
unsigned long ck_pipe_bytes(void);
void ck_pipe_begin(struct ck_pipe *pipe);
bool ck_pipe_push(struct ck_pipe *pipe, const struct ck_message *message);
bool ck_pipe_pop(struct ck_pipe *pipe, struct ck_message *message);

#ifdef __cplusplus
}
#endif

#endif
