// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "listen.h"

#define BACKLOG 128	/* peers that come at once */

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >>
		       24 == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* "[::1]:2350" or "127.0.0.1:2350"; NULL: it is neither. */
static struct addrinfo *look_up(const char *text)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
		.ai_socktype = SOCK_STREAM,
	};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char host[64];
	size_t length;

	if (!colon || colon == text || !colon[1])
		return NULL;
	length = (size_t)(colon - text);
	if (text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	if (length >= sizeof(host))
		return NULL;
	memcpy(host, text, length);
	host[length] = 0;
	return getaddrinfo(host, colon + 1, &hints, &found) ? NULL : found;
}

static int bound(const struct addrinfo *to)
{
	int listener = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	static const int on = 1;

	if (listener < 0)
		return -1;
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(listener, to->ai_addr, to->ai_addrlen) && !listen(listener, BACKLOG))
		return listener;
	close(listener);
	return -1;
}

static void tell(int listener, char *where, size_t size)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[64] = "?", port[8] = "?";

	if (!getsockname(listener, (struct sockaddr *)&address, &length))
		getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port,
			    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(where, size, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

int listen_begin(const char *text, bool token, char *where, char *why, size_t size)
{
	struct addrinfo *to = look_up(text);
	int listener = -1;

	if (!to) {
		snprintf(why, size, "--listen needs ADDRESS:PORT in numbers, such as 127.0.0.1:2350 or [::1]:2350, not \"%s\"",
			 text);
		return -1;
	}
	if (!token && !is_loopback(to->ai_addr)) {
		snprintf(why, size, "others can reach %s: a token is needed for that; see --token-file",
			 text);
	} else {
		listener = bound(to);
		if (listener < 0)
			snprintf(why, size, "cannot listen at %s: %s; choose another --listen, port 0 for any",
				 text, strerror(errno));
		else
			tell(listener, where, size);
	}
	freeaddrinfo(to);
	return listener;
}
