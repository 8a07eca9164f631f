#!/bin/busybox sh
# First process of a measured kernel. What happens before the machine stops is in the snapshot with
# which every run begins. The run's request is in the firmware's configuration, which is not part of
# a snapshot.
/bin/busybox mkdir -p /proc /sys /dev /run/lock /tmp /out
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in /modules/first/*; do insmod "$module"; done

# The helper's requests and answers go through pipes that this shell keeps open.
mkfifo /run/requests /run/answers
exec 3<>/run/requests 4<>/run/answers
# glibc's restartable sequences would take time at each switch of threads, and nothing uses them.
GLIBC_TUNABLES=glibc.pthread.rseq=0 cwndlab-testbed <&3 >&4 2>/out/error &

# The first connection of a kernel that has just booted takes longer to begin.
cat /warm-up >&3
head -n 1 <&4 >/run/warm
echo "ready: $(cat /run/warm)" | cut -c 1-300 >/dev/ttyS0

# When timers of the first run have expired, stop the machine: report a panic by its port, 0x505.
sleep 1
printf '\001' | dd of=/dev/port bs=1 seek=1285 2>/dev/null

insmod /modules/qemu_fw_cfg.ko
request=/sys/firmware/qemu_fw_cfg/by_name/opt/cwndlab/request/raw
busy() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8, $2 + $3 + $4 + $5 + $6 + $7 + $8; exit }' /proc/stat; }
mkdir /run/asked
zcat <$request | tar xf - -C /run/asked
for name in tcp_rmem tcp_wmem; do echo "$name $(cat /proc/sys/net/ipv4/$name)"; done >/out/sysctls
busy >/out/before
# Algorithms stay loaded as long as their loader has not read the end of its input.
answered() { until [ "$(wc -l </out/loaded)" = "$1" ] || ! kill -0 $loader; do sleep 0.1; done; }
if [ -s /run/asked/loads ]; then
	mkfifo /run/loads
	exec 5<>/run/loads
	cwndlab-kernel <&5 >/out/loaded 2>>/out/error &
	loader=$!
	cat /run/asked/loads >&5
	answered "$(wc -l </run/asked/loads)"
fi
if [ ! -e /out/loaded ] || [ "$(grep -c '"answer":"done"' /out/loaded)" = "$(wc -l </run/asked/loads)" ]; then
	cat /run/asked/request >&3
	head -n 1 <&4 >/out/answer
	if [ -s /run/asked/ends ]; then
		cat /run/asked/ends >&5
		answered "$(cat /run/asked/loads /run/asked/ends | wc -l)"
	fi
fi
busy >/out/after
dmesg | tail -n 20 >/out/messages

# Only now is there a disk: nothing before depends on when the host's answers.
for module in /modules/last/*; do insmod "$module"; done
tar cf - -C /out . | dd of=/dev/vda bs=1M 2>/dev/null
poweroff -f
