#!/bin/busybox sh
# First process of the measured kernel: three network namespaces in a row, then the job.
#
#   snd s0 10.1.0.1 --- 10.1.0.2 r0 [rtr] r1 10.2.0.2 --- 10.2.0.1 d0 rcv
/bin/busybox mkdir -p /proc /sys /dev /out /run/netns
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs out /out
/bin/busybox --install -s /bin
for module in /modules/*; do insmod "$module"; done

for name in snd rtr rcv; do
	iproute-ip netns add $name
	iproute-ip -n $name link set lo up
done
iproute-ip -n snd link add s0 address 02:00:00:00:01:01 type veth peer name r0 netns rtr address 02:00:00:00:01:02
iproute-ip -n rtr link add r1 address 02:00:00:00:02:02 type veth peer name d0 netns rcv address 02:00:00:00:02:01
attach() { # namespace device address other's-address other's-MAC
	iproute-ip -n $1 link set $2 gso_max_segs 1
	iproute-ip netns exec $1 guest plain $2
	iproute-ip -n $1 addr add $3/24 dev $2
	iproute-ip -n $1 link set $2 up
	iproute-ip -n $1 neigh add $4 lladdr $5 dev $2 nud permanent
}
attach snd s0 10.1.0.1 10.1.0.2 02:00:00:00:01:02
attach rtr r0 10.1.0.2 10.1.0.1 02:00:00:00:01:01
attach rtr r1 10.2.0.2 10.2.0.1 02:00:00:00:02:01
attach rcv d0 10.2.0.1 10.2.0.2 02:00:00:00:02:02
iproute-ip -n snd route add default via 10.1.0.2
iproute-ip -n rcv route add default via 10.2.0.2
iproute-ip netns exec rtr sysctl -qw net.ipv4.ip_forward=1
for name in snd rcv; do
	iproute-ip netns exec $name sysctl -qw net.ipv4.tcp_no_metrics_save=1 \
		net.ipv4.tcp_rmem="4096 131072 16777216" net.ipv4.tcp_wmem="4096 16384 16777216"
done

tc() { iproute-ip netns exec rtr iproute-tc "$@"; }
bottleneck() { tc qdisc "$1" dev r1 root handle 1: netem $2; }
delay() { tc qdisc "$1" dev r0 root handle 2: netem limit 100000 delay $2; }
on() { name=$1; shift; iproute-ip netns exec $name "$@"; }

# The first connection of a kernel that has just booted takes 6 ms longer to begin.
on rcv guest receive 4999 /dev/null &
sleep 1
on snd guest send reno 4999 $(guest now) 200 1000 /dev/null

. /job.sh

for file in /out/*; do
	echo "=== ${file#/out/}"
	cat "$file"
done > /dev/ttyS1
echo "=== end" > /dev/ttyS1
sleep 1
poweroff -f
