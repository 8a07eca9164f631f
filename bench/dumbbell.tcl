# The benchmark's dumbbell in ns-2: usage: ns dumbbell.tcl AGENT FLOWS SECONDS
# AGENT is sack1 or cubic (TCP/Linux). Prints the delivered segments.
# 50 Mbit/s, 40 ms, a queue of one bandwidth-delay product, delayed ACKs, SACK, no tracing.

lassign $argv agent flows seconds
remove-all-packet-headers
add-packet-header IP TCP Flags

set ns [new Simulator]
set left [$ns node]
set right [$ns node]
set queue_pkts 167
$ns duplex-link $left $right 50Mb 20ms DropTail
$ns queue-limit $left $right $queue_pkts
$ns queue-limit $right $left 100000

set sinks {}
for {set flow 0} {$flow < $flows} {incr flow} {
	if {$agent eq "cubic"} {
		set tcp [new Agent/TCP/Linux]
	} else {
		set tcp [new Agent/TCP/Sack1]
	}
	set sink [new Agent/TCPSink/Sack1/DelAck]
	$sink set interval_ 40ms
	$tcp set packetSize_ 1460
	$tcp set window_ 100000
	$tcp set fid_ $flow
	$ns attach-agent $left $tcp
	$ns attach-agent $right $sink
	$ns connect $tcp $sink
	set ftp [new Application/FTP]
	$ftp attach-agent $tcp
	if {$agent eq "cubic"} {
		$ns at 0 "$tcp select_ca cubic"
	}
	$ns at [expr {0.1 * $flow}] "$ftp start"
	lappend senders $tcp
}
$ns at $seconds {
	set delivered 0
	foreach tcp $senders {
		incr delivered [$tcp set ack_]
	}
	puts $delivered
	exit 0
}
$ns run
