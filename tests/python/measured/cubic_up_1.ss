1795251407.516125010
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:2 segs_out:6 segs_in:5 data_segs_out:3 data_segs_in:2 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:20 lastrcv:20 lastack:20 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      0          10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:204 rtt:0.016/0.007 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:11 bytes_sent:37 bytes_acked:38 segs_out:3 segs_in:2 data_segs_out:1 send 7964000000bps lastsnd:12 lastrcv:12 lastack:12 pacing_rate 19473735600bps delivery_rate 772266664bps delivered:2 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.015 snd_wnd:65536
1795251407.889130908
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:376 lastrcv:352 lastack:352 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      163624     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:228 rtt:24.73/0.69 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:44 ssthresh:16 bytes_sent:906485 bytes_acked:845670 segs_out:629 segs_in:294 data_segs_out:627 send 20610433bps lastsnd:4 lastrcv:368 pacing_rate 24732264bps delivery_rate 19128920bps delivered:586 busy:352ms unacked:42 rcv_space:14480 rcv_ssthresh:64088 notsent:102808 minrtt:0.015 snd_wnd:160768
1795251408.221201008
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:712 lastrcv:688 lastack:688 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      275120     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:244 rtt:40.837/0.734 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:72 ssthresh:16 bytes_sent:1752117 bytes_acked:1650758 segs_out:1213 segs_in:565 data_segs_out:1211 send 20423831bps lastsnd:4 lastrcv:704 pacing_rate 24508520bps delivery_rate 19123512bps delivered:1142 busy:688ms unacked:70 rcv_space:14480 rcv_ssthresh:64088 notsent:173760 minrtt:0.015 snd_wnd:216064
1795251408.545535249
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:1032 lastrcv:1008 lastack:1008 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      295392     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:256 rtt:55.89/0.763 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:99 ssthresh:16 bytes_sent:2555757 bytes_acked:2412406 segs_out:1768 segs_in:843 data_segs_out:1766 send 20519163bps lastsnd:4 lastrcv:1024 lastack:4 pacing_rate 24622992bps delivery_rate 19126584bps delivered:1668 busy:1008ms unacked:99 rcv_space:14480 rcv_ssthresh:64088 notsent:152040 minrtt:0.015 snd_wnd:283648
1795251408.859506220
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:1352 lastrcv:1328 lastack:1328 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      379376     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:248 rtt:45.817/0.334 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:77 ssthresh:75 bytes_sent:3300029 bytes_retrans:8688 bytes_acked:3179846 segs_out:2282 segs_in:1199 data_segs_out:2280 send 19468058bps lastrcv:1344 pacing_rate 23361472bps delivery_rate 19125472bps delivered:2198 busy:1328ms unacked:77 retrans:0/6 rcv_space:14480 rcv_ssthresh:64088 notsent:267880 minrtt:0.015 snd_wnd:800768
1795251409.212947299
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:1696 lastrcv:1672 lastack:1672 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      333040     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:252 rtt:49.315/0.984 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:84 ssthresh:75 bytes_sent:4138421 bytes_retrans:8688 bytes_acked:4008102 segs_out:2861 segs_in:1416 data_segs_out:2859 send 19731441bps lastrcv:1688 pacing_rate 23677368bps delivery_rate 19127296bps delivered:2770 busy:1672ms unacked:84 retrans:0/6 rcv_space:14480 rcv_ssthresh:64088 notsent:211408 minrtt:0.015 snd_wnd:800768
1795251409.528072230
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:2012 lastrcv:1988 lastack:1988 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      363448     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:256 rtt:53.487/0.49 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:90 ssthresh:75 bytes_sent:4898621 bytes_retrans:8688 bytes_acked:4759614 segs_out:3386 segs_in:1652 data_segs_out:3384 send 19491839bps lastrcv:2004 pacing_rate 23389928bps delivery_rate 19127920bps delivered:3289 busy:1988ms unacked:90 retrans:0/6 rcv_space:14480 rcv_ssthresh:64088 notsent:233128 minrtt:0.015 snd_wnd:800768
1795251409.857990321
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:2344 lastrcv:2320 lastack:2320 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      360552     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:256 rtt:55.897/0.724 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:94 ssthresh:75 bytes_sent:5689229 bytes_retrans:8688 bytes_acked:5544430 segs_out:3932 segs_in:1889 data_segs_out:3930 send 19480401bps lastsnd:4 lastrcv:2336 lastack:4 pacing_rate 23376272bps delivery_rate 19129272bps delivered:3831 busy:2320ms unacked:94 retrans:0/6 rcv_space:14480 rcv_ssthresh:64088 notsent:224440 minrtt:0.015 snd_wnd:800768
1795251410.199985460
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:2684 lastrcv:2660 lastack:2660 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      317112     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:260 rtt:59.186/0.609 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:98 ssthresh:75 bytes_sent:6520381 bytes_retrans:8688 bytes_acked:6369790 segs_out:4506 segs_in:2154 data_segs_out:4504 send 19180752bps lastrcv:2676 pacing_rate 23016704bps delivery_rate 19129032bps delivered:4401 busy:2660ms unacked:98 retrans:0/6 rcv_space:14480 rcv_ssthresh:64088 notsent:175208 minrtt:0.015 snd_wnd:800768
1795251410.522160671
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:3008 lastrcv:2984 lastack:2984 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      330144     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:264 rtt:60.817/0.362 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:101 ssthresh:75 bytes_sent:7293613 bytes_retrans:8688 bytes_acked:7138678 segs_out:5040 segs_in:2408 data_segs_out:5038 send 19237779bps lastrcv:3000 pacing_rate 23085328bps delivery_rate 19127696bps delivered:4932 busy:2984ms unacked:101 retrans:0/6 rcv_space:14480 rcv_ssthresh:64088 notsent:183896 minrtt:0.015 snd_wnd:800768
1795251410.836339242
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:3320 lastrcv:3296 lastack:3296 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      360552     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:248 rtt:47.355/2.489 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:73 ssthresh:72 bytes_sent:8006029 bytes_retrans:10136 bytes_acked:7890190 segs_out:5532 segs_in:2680 data_segs_out:5530 send 17857291bps lastrcv:3312 pacing_rate 21428688bps delivery_rate 13593360bps delivered:5451 busy:3296ms unacked:73 retrans:0/7 rcv_space:14480 rcv_ssthresh:64088 notsent:254848 minrtt:0.015 snd_wnd:802816
1795251411.188903831
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:3684 lastrcv:3660 lastack:3660 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      474944     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:248 rtt:46.335/1.502 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:77 ssthresh:72 bytes_sent:8874829 bytes_retrans:10136 bytes_acked:8753198 segs_out:6132 segs_in:2945 data_segs_out:6130 send 19250415bps lastrcv:3676 pacing_rate 23100120bps delivery_rate 18871776bps delivered:6047 busy:3660ms unacked:77 retrans:0/7 rcv_space:14480 rcv_ssthresh:64088 notsent:363448 minrtt:0.015 snd_wnd:802816
1795251411.527065121
State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
ESTAB 0      0          10.77.1.2:33134    10.77.2.2:5201
	 bbr wscale:10,10 rto:204 rtt:0.069/0.045 ato:40 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:13 bytes_sent:185 bytes_acked:186 bytes_received:4 segs_out:7 segs_in:7 data_segs_out:3 data_segs_in:4 bbr:(bw:1930666200bps,mrtt:0.005,pacing_gain:2.88672,cwnd_gain:2.88672) send 2182492754bps lastsnd:4020 lastrcv:3996 lastack:3996 pacing_rate 5517557432bps delivery_rate 1930666664bps delivered:4 app_limited rcv_space:14480 rcv_ssthresh:64088 minrtt:0.005 snd_wnd:65536
ESTAB 0      453224     10.77.1.2:33136    10.77.2.2:5201
	 cubic wscale:10,10 rto:248 rtt:47.749/0.591 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:80 ssthresh:72 bytes_sent:9679917 bytes_retrans:10136 bytes_acked:9556838 segs_out:6688 segs_in:3189 data_segs_out:6686 send 19408155bps lastsnd:4 lastrcv:4012 pacing_rate 23289536bps delivery_rate 18883792bps delivered:6602 busy:3996ms unacked:78 retrans:0/7 rcv_space:14480 rcv_ssthresh:64088 notsent:340280 minrtt:0.015 snd_wnd:802816
