/*
 * What runs inside the measured kernel: ends of connections, and a sampler that reads TCP_INFO every
 * 10 ms. Static, so that the guest needs no libraries for it.
 *
 *   guest now                                   CLOCK_MONOTONIC in ns
 *   guest until NS                              returns at that time
 *   guest plain DEVICE                          no TSO, GSO and GRO on it
 *   guest receive PORT CSV [ALGORITHM]          reads a connection until its end or SIGTERM; bytes
 *                                               every 10 ms into CSV
 *   guest send ALGORITHM PORT AT_NS MS BYTES CSV   connects at AT_NS, sends for MS or BYTES (0: no end)
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX	40000
#define INTERVAL_NS	10000000LL
#define SECOND_NS	1000000000LL

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static void sleep_until(int64_t at_ns)
{
	struct timespec t = { at_ns / SECOND_NS, at_ns % SECOND_NS };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int make_plain(const char *device)
{
	const uint32_t commands[] = { ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct ethtool_value value = { commands[i], 0 };
		struct ifreq request = { .ifr_data = (void *)&value };

		strncpy(request.ifr_name, device, IFNAMSIZ - 1);
		if (ioctl(fd, SIOCETHTOOL, &request))
			fail(device);
	}
	return 0;
}

static void use_algorithm(int fd, const char *name)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)))
		fail(name);
}

/* What the other threads share with the sampler. */
static struct sample {
	int64_t at_ns;
	int64_t bytes;
	struct tcp_info info;
} samples[SAMPLES_MAX];
static int sampled;
static volatile int is_over;
static volatile int64_t bytes_read, last_read_ns;
static int connection;
static int64_t began_ns;

static void *sample_sender(void *unused)
{
	(void)unused;
	for (int64_t k = 1; !is_over && sampled < SAMPLES_MAX; k++) {
		struct sample *sample = &samples[sampled];
		socklen_t length = sizeof(sample->info);

		sleep_until(began_ns + k * INTERVAL_NS);
		sample->at_ns = now_ns();
		if (getsockopt(connection, IPPROTO_TCP, TCP_INFO, &sample->info, &length))
			break;
		sampled++;
	}
	return NULL;
}

static void *sample_receiver(void *unused)
{
	(void)unused;
	while (!is_over && sampled < SAMPLES_MAX) {
		sleep_until((now_ns() / INTERVAL_NS + 1) * INTERVAL_NS);
		samples[sampled].at_ns = now_ns();
		samples[sampled++].bytes = bytes_read;
	}
	return NULL;
}

static int64_t bytes_to_send;

static void *write_blocks(void *unused)
{
	static char block[65536];
	int64_t left = bytes_to_send ? bytes_to_send : INT64_MAX;

	(void)unused;
	while (!is_over && left > 0) {
		size_t size = left < (int64_t)sizeof(block) ? (size_t)left : sizeof(block);
		ssize_t written = write(connection, block, size);

		if (written <= 0)
			break;
		left -= written;
	}
	if (bytes_to_send)
		shutdown(connection, SHUT_WR);
	return NULL;
}

static void interrupt_reading(int signal)
{
	(void)signal;
}

static int receive(int port, const char *path, const char *algorithm)
{
	static char buffer[1 << 20];
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sigaction action = { .sa_handler = interrupt_reading };
	sigset_t terminate;
	pthread_t thread;
	FILE *file;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (algorithm)
		use_algorithm(listener, algorithm);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 1))
		fail("listen");
	connection = accept(listener, NULL, NULL);
	/* Reads at once, though a sender that fills its buffer has the only processor for a while. */
	if (sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 }))
		fail("sched_setscheduler");
	sigaction(SIGTERM, &action, NULL);
	sigemptyset(&terminate);
	sigaddset(&terminate, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &terminate, NULL);	/* not in the sampler */
	pthread_create(&thread, NULL, sample_receiver, NULL);
	pthread_sigmask(SIG_UNBLOCK, &terminate, NULL);
	for (ssize_t got; (got = read(connection, buffer, sizeof(buffer))) > 0;) {
		bytes_read += got;
		last_read_ns = now_ns();
	}
	is_over = 1;
	pthread_join(thread, NULL);
	file = fopen(path, "w");
	fprintf(file, "at_ns,bytes\n");
	for (int i = 0; i < sampled; i++)
		fprintf(file, "%lld,%lld\n", (long long)samples[i].at_ns, (long long)samples[i].bytes);
	fprintf(file, "%lld,%lld\n", (long long)last_read_ns, (long long)bytes_read);
	return fclose(file);
}

static int send_data(char **arguments)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int64_t lasts_ns = atoll(arguments[3]) * (SECOND_NS / 1000);
	pthread_t sampler, writer;
	FILE *file;

	memset(samples, 1, sizeof(samples));	/* no page is missing later */
	mlockall(MCL_CURRENT);
	bytes_to_send = atoll(arguments[4]);
	address.sin_port = htons((uint16_t)atoi(arguments[1]));
	inet_pton(AF_INET, "10.2.0.1", &address.sin_addr);
	connection = socket(AF_INET, SOCK_STREAM, 0);
	use_algorithm(connection, arguments[0]);
	sleep_until(atoll(arguments[2]));
	began_ns = now_ns();
	if (connect(connection, (struct sockaddr *)&address, sizeof(address)))
		fail("connect");
	pthread_create(&sampler, NULL, sample_sender, NULL);
	pthread_create(&writer, NULL, write_blocks, NULL);
	sleep_until(began_ns + lasts_ns);
	is_over = 1;
	file = fopen(arguments[5], "w");
	fprintf(file, "at_ns,cwnd,srtt_us,retransmitted,timeouts_in_a_row\n");
	for (int i = 0; i < sampled; i++) {
		const struct tcp_info *info = &samples[i].info;

		fprintf(file, "%lld,%u,%u,%u,%u\n", (long long)(samples[i].at_ns - began_ns),
			info->tcpi_snd_cwnd, info->tcpi_rtt, info->tcpi_total_retrans,
			info->tcpi_retransmits);
	}
	fprintf(file, "# began_ns %lld\n", (long long)began_ns);
	fclose(file);
	shutdown(connection, SHUT_RDWR);
	_exit(0);	/* the writer may wait for ever */
}

int main(int count, char **arguments)
{
	const char *verb = count > 1 ? arguments[1] : "";

	if (!strcmp(verb, "now"))
		return printf("%lld\n", (long long)now_ns()) < 0;
	if (!strcmp(verb, "until") && count == 3) {
		sleep_until(atoll(arguments[2]));
		return 0;
	}
	if (!strcmp(verb, "plain") && count == 3)
		return make_plain(arguments[2]);
	if (!strcmp(verb, "receive") && count >= 4)
		return receive(atoi(arguments[2]), arguments[3], count > 4 ? arguments[4] : NULL);
	if (!strcmp(verb, "send") && count == 8)
		return send_data(arguments + 2);
	fprintf(stderr, "usage: see the head of guest.c\n");
	return 2;
}
