// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dead-counter PROGRAM ARGUMENT...: runs PROGRAM with a counter that does not count.
 * Where it opens one of the CPU's instructions it gets the event 0x09, exceptions taken,
 * instead: the kernel and the emulated CPU have it, and it stays 0.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXC_TAKEN 0x09

static void die(const char *what)
{
	perror(what);
	exit(99);
}

/* In the program: stops at each perf_event_open(), runs freely otherwise. */
static void become(char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		die("PTRACE_TRACEME");
	raise(SIGSTOP);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
	execv(argv[0], argv);
	die(argv[0]);
}

/* The first words of its struct perf_event_attr: type and size, config. */
static void replace(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec io = { &regs, sizeof(regs) };
	unsigned long words[2], at;

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io))
		die("PTRACE_GETREGSET");
	at = regs.regs[0];
	for (int i = 0; i < 2; i++) {
		errno = 0;
		words[i] = (unsigned long)ptrace(PTRACE_PEEKDATA, pid, at + i * sizeof(*words),
						 NULL);
		if (errno)
			die("PTRACE_PEEKDATA");
	}
	if ((unsigned int)words[0] != PERF_TYPE_HARDWARE ||
	    (unsigned int)words[1] != PERF_COUNT_HW_INSTRUCTIONS)
		return;
	words[0] = (words[0] >> 32 << 32) | PERF_TYPE_RAW;
	for (int i = 0; i < 2; i++)
		if (ptrace(PTRACE_POKEDATA, pid, at + i * sizeof(*words), i ? EXC_TAKEN : words[0]))
			die("PTRACE_POKEDATA");
}

/* Its exit code when @first has ended. */
static int follow(pid_t first)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		int event = status >> 16, number = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

		if (pid == first && WIFEXITED(status))
			return WEXITSTATUS(status);
		if (pid == first && WIFSIGNALED(status))
			return 128 + WTERMSIG(status);
		if (!WIFSTOPPED(status))
			continue;
		if (event == PTRACE_EVENT_SECCOMP)
			replace(pid);
		/* A stop of ours, or of a new process: no signal of its own. */
		if (event || number == SIGSTOP)
			number = 0;
		ptrace(PTRACE_CONT, pid, NULL, number);
	}
	return 99;
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 2) {
		fprintf(stderr, "usage: dead-counter PROGRAM ARGUMENT...\n");
		return 99;
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid)
		become(argv + 1);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("the program did not stop");
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC |
		   PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE))
		die("PTRACE_SETOPTIONS");
	ptrace(PTRACE_CONT, pid, NULL, 0);
	return follow(pid);
}
