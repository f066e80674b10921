// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/screen.h"

/* Another page without a cursor, and back. */
#define TAKE "\033[?1049h\033[?25l"
#define GIVE "\033[0m\033[?25h\033[?1049l"

static struct termios before;
static volatile sig_atomic_t taken, stopped, resumed;

/* Those that end a program and are no one's to wait for. */
static const int deadly[] = {
	SIGQUIT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2,
};
static struct sigaction others[ARRAY_SIZE(deadly)];

/* In handlers too: only what is allowed there. */
static void put(const char *sequence)
{
	size_t length = strlen(sequence);
	ssize_t n;

	while (length) {
		n = write(STDOUT_FILENO, sequence, length);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			sequence += n;
			length -= (size_t)n;
		}
	}
}

static void give_back(void)
{
	if (!taken)
		return;
	taken = 0;
	put(GIVE);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static void take(void)
{
	struct termios keys = before;

	/* Ctrl-C and Ctrl-Z remain what they are. */
	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 0;
	keys.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	/* After a SIGSTOP of somebody only the settings are another's. */
	if (!taken)
		put(TAKE);
	taken = 1;
}

static void note(int signal)
{
	if (signal == SIGTSTP)
		stopped = 1;
	else if (signal == SIGCONT)
		resumed = 1;
	/* SIGWINCH only wakes whoever draws. */
}

static void die(int signal)
{
	give_back();
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		if (deadly[i] == signal)
			sigaction(signal, &others[i], NULL);
	/* Now as without this handler, when it returns. */
	raise(signal);
}

static void set_handlers(void)
{
	static const int noted[] = { SIGWINCH, SIGTSTP, SIGCONT };
	struct sigaction noting = { .sa_handler = note }, dying = { .sa_handler = die };
	sigset_t blocked;

	/* They come only while asleep, where wait.h lets them in. */
	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(noted); i++) {
		sigaction(noted[i], &noting, NULL);
		sigaddset(&blocked, noted[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++) {
		sigaction(deadly[i], NULL, &others[i]);
		if (others[i].sa_handler != SIG_IGN)
			sigaction(deadly[i], &dying, NULL);
	}
}

bool screen_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
}

int screen_open(void)
{
	if (tcgetattr(STDIN_FILENO, &before)) {
		error_say("the terminal's settings cannot be read: %s", strerror(errno));
		return -1;
	}
	set_handlers();
	atexit(give_back);
	take();
	return 0;
}

void screen_close(void)
{
	give_back();
}

void screen_signal(void)
{
	if (stopped) {
		stopped = 0;
		give_back();
		raise(SIGSTOP);
		resumed = 1;
	}
	/* Also if SIGSTOP came without notice: somebody had the terminal meanwhile. */
	if (resumed) {
		resumed = 0;
		take();
	}
}

/* The next byte; -1: none now, -2: never more. */
static int next_byte(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	unsigned char byte;
	ssize_t n;

	if (poll(&input, 1, 0) <= 0)
		return -1;
	n = read(STDIN_FILENO, &byte, 1);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return -1;
	return n == 1 ? byte : -2;
}

int screen_key(void)
{
	/* What has come of "ESC [ A": a key's bytes may come apart. */
	static int behind;
	int byte;

	while ((byte = next_byte()) >= 0) {
		if (byte == '\033') {
			behind = 1;
		} else if (behind == 1 && (byte == '[' || byte == 'O')) {
			behind = 2;
		} else if (behind == 2) {
			/* Parameters, then what it is. */
			if (byte < 0x40)
				continue;
			behind = 0;
			if (byte == 'A' || byte == 'B')
				return byte == 'A' ? SCREEN_UP : SCREEN_DOWN;
		} else {
			behind = 0;
			return byte;
		}
	}
	return byte == -2 ? SCREEN_CLOSED : SCREEN_NONE;
}
