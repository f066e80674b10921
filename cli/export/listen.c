// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "export/listen.h"

#define BACKLOG 16
#define HOST_MOST 64
#define PORT_MOST 65535
#define NOT_OTHERS 0117	/* read and write for the owner and the group */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

/* Takes "HOST:PORT" or "[HOST]:PORT" apart; the length, 0: it is neither. */
static socklen_t parse(const char *text, union address *address)
{
	const char *colon = strrchr(text, ':');
	char host[HOST_MOST];
	size_t length = colon ? (size_t)(colon - text) : 0;
	unsigned long port;

	if (!length || length >= sizeof(host) || !colon[1] ||
	    colon[1 + strspn(colon + 1, "0123456789")])
		return 0;
	/* Of more digits than it has room for it makes its largest number. */
	port = strtoul(colon + 1, NULL, 10);
	if (port > PORT_MOST)
		return 0;
	*address = (union address){ 0 };
	memcpy(host, text, length);
	host[length] = '\0';
	if (*host == '[' && host[length - 1] == ']') {
		host[length - 1] = '\0';
		address->v6.sin6_family = AF_INET6;
		address->v6.sin6_port = htons((uint16_t)port);
		return inet_pton(AF_INET6, host + 1, &address->v6.sin6_addr) == 1 ?
			sizeof(address->v6) : 0;
	}
	address->v4.sin_family = AF_INET;
	address->v4.sin_port = htons((uint16_t)port);
	return inet_pton(AF_INET, host, &address->v4.sin_addr) == 1 ? sizeof(address->v4) : 0;
}

/* Does only this machine reach it? */
static bool is_loopback(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static int complain(const char *text, int error)
{
	const char *fix = "";

	if (error == EADDRINUSE)
		fix = ": choose another port, or end who has it (ss -ltnp says it)";
	else if (error == EADDRNOTAVAIL)
		fix = ": it is none of this machine's";
	else if (error == EACCES)
		fix = ": choose a port from 1024 on, or a directory that this user may write to";
	else if (error == ENOENT)
		fix = ": make its directory first";
	error_say("cannot listen at %s: %s%s", text, strerror(error), fix);
	return -1;
}

static int open_tcp(struct listener *listener, const char *text, bool remote, bool names)
{
	union address address;
	socklen_t length = parse(text, &address);
	char host[INET6_ADDRSTRLEN];
	int one = 1;

	if (!length) {
		error_say("--socket wants a path with a slash, 127.0.0.1:PORT or [::1]:PORT, not \"%s\"",
			  text);
		return -1;
	}
	if (!is_loopback(&address) && !remote) {
		error_say("%s can be reached from other machines, without a password and in clear text: take 127.0.0.1 or [::1], and a proxy that asks who it is, or add --remote if that network is trusted",
			  text);
		return -1;
	}
	listener->file = socket(address.any.sa_family,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener->file < 0)
		return complain(text, errno);
	/* A restart need not wait until old connections are forgotten. */
	setsockopt(listener->file, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address.any.sa_family == AF_INET6)
		setsockopt(listener->file, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(listener->file, &address.any, length) || listen(listener->file, BACKLOG) ||
	    getsockname(listener->file, &address.any, &length)) {
		int error = errno;

		close(listener->file);
		return complain(text, error);
	}
	listener->local = is_loopback(&address);
	if (!listener->local)
		error_say("warning: whoever reaches %s sees the names of processes and of kernel functions here: no password, no encryption",
			  text);
	else if (names)
		error_say("warning: every user of this machine sees the names of processes and of kernel functions at %s, which the kernel keeps for root: --no-names leaves them out, and a path is for its owner and group",
			  text);
	if (address.any.sa_family == AF_INET6)
		error_say("listening at http://[%s]:%d/metrics",
			  inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host)),
			  ntohs(address.v6.sin6_port));
	else
		error_say("listening at http://%s:%d/metrics",
			  inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host)),
			  ntohs(address.v4.sin_port));
	return 0;
}

/* Removes a socket that nobody listens at any more.  0, or -1, said why. */
static int clear(const char *path, const union address *address)
{
	struct stat status;
	int file, error;

	if (lstat(path, &status))
		return 0;
	if (!S_ISSOCK(status.st_mode)) {
		error_say("%s is there and no socket: choose another path, or remove it", path);
		return -1;
	}
	file = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (file < 0)
		return complain(path, errno);
	error = connect(file, &address->any, sizeof(address->local)) ? errno : 0;
	close(file);
	if (error != ECONNREFUSED) {
		error_say("another program listens at %s, or this user may not ask it: choose another path, or end it",
			  path);
		return -1;
	}
	return unlink(path) ? complain(path, errno) : 0;
}

static int open_local(struct listener *listener, const char *path)
{
	union address address = { .local.sun_family = AF_UNIX };
	struct stat status;
	mode_t mask;
	int error = 0;

	if (strlen(path) >= sizeof(address.local.sun_path)) {
		error_say("%s is too long for a socket, which may have %zu bytes", path,
			  sizeof(address.local.sun_path) - 1);
		return -1;
	}
	strcpy(address.local.sun_path, path);
	if (clear(path, &address))
		return -1;
	listener->file = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener->file < 0)
		return complain(path, errno);
	mask = umask(NOT_OTHERS);
	if (bind(listener->file, &address.any, sizeof(address.local)))
		error = errno;
	umask(mask);
	if (error) {
		close(listener->file);
		return complain(path, error);
	}
	if (listen(listener->file, BACKLOG) || lstat(path, &status)) {
		error = errno;
		unlink(path);
		close(listener->file);
		return complain(path, error);
	}
	listener->path = path;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
	error_say("listening at %s", path);
	return 0;
}

int listen_open(struct listener *listener, const char *address, bool remote, bool names)
{
	*listener = (struct listener){ 0 };
	return strchr(address, '/') ? open_local(listener, address) :
		open_tcp(listener, address, remote, names);
}

void listen_close(struct listener *listener)
{
	struct stat status;

	if (listener->path && !lstat(listener->path, &status) &&
	    status.st_dev == listener->device && status.st_ino == listener->inode)
		unlink(listener->path);
	close(listener->file);
}
