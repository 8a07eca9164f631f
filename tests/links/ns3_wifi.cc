// What ns-3 measures on one Wi-Fi channel: an access point and its stations, on a circle around it
// or on a line from it, each frame at one rate. Prints Mbit/s of payload and Jain's index of the stations' shares.
//
// tests/links/ns3.py compiles it and runs it with the settings of ns3.csv.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

struct Setting
{
    std::string standard = "n";
    uint32_t channelMhz = 20;
    bool shortGuardInterval = false;
    uint32_t mcs = 7;
    uint32_t ampduBytes = 65535;
    // udp-down, udp-up, tcp-down or tcp-up.
    std::string traffic = "udp-down";
    uint32_t stations = 1;
    // circle: each 3 m away. line: 1 m, 2 m, 3 m and so on.
    std::string places = "circle";
    double seconds = 10;
    // Time before that.
    double warmUp = 2;
    uint32_t run = 1;
    // Bits a second of all datagrams together.
    double offered = 0;
    // Longest time of a packet in the queue of the card.
    double lifetimeMs = 500;
    // FQ-CoDel above the card, ns-3's default.
    bool queueDisc = true;
    // Small datagrams both ways between 0.7 and 1 s, so that addresses are resolved and block
    // acknowledgements agreed before stations contend.
    bool greet = false;
};

constexpr uint16_t PORT = 9;
constexpr uint32_t DATAGRAM_BYTES = 1472;
constexpr uint32_t SEGMENT_BYTES = 1448;
constexpr uint16_t GREETING_PORT = 5000;

NetDeviceContainer
InstallWifi(const Setting& setting, NodeContainer accessPoint, NodeContainer stations)
{
    const bool isAc = setting.standard == "ac";
    YansWifiChannelHelper channel = YansWifiChannelHelper::Default();
    YansWifiPhyHelper phy;
    phy.SetChannel(channel.Create());
    phy.Set("ChannelSettings",
            StringValue("{0, " + std::to_string(setting.channelMhz) + ", BAND_5GHZ, 0}"));
    WifiHelper wifi;
    wifi.SetStandard(isAc ? WIFI_STANDARD_80211ac : WIFI_STANDARD_80211n);
    wifi.SetRemoteStationManager(
        "ns3::ConstantRateWifiManager",
        "DataMode",
        StringValue((isAc ? "VhtMcs" : "HtMcs") + std::to_string(setting.mcs)),
        "ControlMode",
        StringValue("OfdmRate24Mbps"));
    WifiMacHelper mac;
    const Ssid ssid("ns-3");
    const UintegerValue ampdu(setting.ampduBytes);
    mac.SetType("ns3::StaWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", ampdu);
    NetDeviceContainer devices = wifi.Install(phy, mac, stations);
    mac.SetType("ns3::ApWifiMac", "Ssid", SsidValue(ssid), "BE_MaxAmpduSize", ampdu);
    NetDeviceContainer all(wifi.Install(phy, mac, accessPoint), devices);
    Config::Set("/NodeList/*/DeviceList/*/$ns3::WifiNetDevice/HtConfiguration/"
                "ShortGuardIntervalSupported",
                BooleanValue(setting.shortGuardInterval));
    return all;
}

void
Place(const Setting& setting, NodeContainer nodes)
{
    auto places = CreateObject<ListPositionAllocator>();
    places->Add(Vector(0, 0, 0));
    for (uint32_t station = 1; station < nodes.GetN(); station++)
    {
        const double angle = 2 * M_PI * station / setting.stations;
        places->Add(setting.places == "line"
                        ? Vector(station, 0, 0)
                        : Vector(3 * std::cos(angle), 3 * std::sin(angle), 0));
    }
    MobilityHelper mobility;
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.SetPositionAllocator(places);
    mobility.Install(nodes);
}

// One sink for each station, at the side that receives.
std::vector<Ptr<PacketSink>>
InstallTraffic(const Setting& setting,
               Ptr<Node> accessPoint,
               NodeContainer stations,
               const Ipv4InterfaceContainer& addresses)
{
    const bool isTcp = setting.traffic.substr(0, 3) == "tcp";
    const bool isDown = setting.traffic.substr(4) == "down";
    const std::string factory = isTcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t station = 0; station < stations.GetN(); station++)
    {
        Ptr<Node> from = isDown ? accessPoint : stations.Get(station);
        Ptr<Node> to = isDown ? stations.Get(station) : accessPoint;
        const uint16_t port = PORT + station;
        const Address address =
            InetSocketAddress(addresses.GetAddress(isDown ? station + 1 : 0), port);
        PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
        sinks.push_back(DynamicCast<PacketSink>(sink.Install(to).Get(0)));
        ApplicationContainer source;
        if (isTcp)
        {
            source = BulkSendHelper(factory, address).Install(from);
        }
        else
        {
            OnOffHelper datagrams(factory, address);
            const double rate = setting.offered / stations.GetN();
            datagrams.SetConstantRate(DataRate(static_cast<uint64_t>(rate)), DATAGRAM_BYTES);
            source = datagrams.Install(from);
        }
        source.Start(Seconds(1 + 0.001 * station));
    }
    return sinks;
}

// More than one packet at a time, as ns-3 agrees on block acknowledgements only then.
void
Greet(Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint16_t port, double start)
{
    UdpServerHelper(port).Install(to);
    UdpClientHelper client(address, port);
    client.SetAttribute("MaxPackets", UintegerValue(8));
    client.SetAttribute("PacketSize", UintegerValue(200));
    client.SetAttribute("Interval", TimeValue(MicroSeconds(10)));
    client.Install(from).Start(Seconds(start));
}

} // namespace

int
main(int argc, char** argv)
{
    Setting setting;
    CommandLine command;
    command.AddValue("standard", "n or ac", setting.standard);
    command.AddValue("channel", "width, MHz", setting.channelMhz);
    command.AddValue("short", "short guard interval", setting.shortGuardInterval);
    command.AddValue("mcs", "rate of all data", setting.mcs);
    command.AddValue("ampdu", "largest A-MPDU, bytes", setting.ampduBytes);
    command.AddValue("traffic", "udp-down, udp-up, tcp-down, tcp-up", setting.traffic);
    command.AddValue("stations", "number of stations", setting.stations);
    command.AddValue("places", "circle or line", setting.places);
    command.AddValue("warm_up", "time before that, s", setting.warmUp);
    command.AddValue("seconds", "time measured, s", setting.seconds);
    command.AddValue("run", "run number", setting.run);
    command.AddValue("offered", "datagrams, bit/s of all stations", setting.offered);
    command.AddValue("lifetime", "longest time in the queue, ms", setting.lifetimeMs);
    command.AddValue("disc", "FQ-CoDel above the card", setting.queueDisc);
    command.AddValue("greet", "agree on block acknowledgements first", setting.greet);
    command.Parse(argc, argv);
    RngSeedManager::SetRun(setting.run);
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay",
                       TimeValue(MicroSeconds(1000 * setting.lifetimeMs)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT_BYTES));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpNewReno"));
    Config::SetDefault("ns3::ArpCache::PendingQueueSize", UintegerValue(1000));

    NodeContainer accessPoint(1);
    NodeContainer stations(setting.stations);
    NetDeviceContainer devices = InstallWifi(setting, accessPoint, stations);
    Place(setting, NodeContainer(accessPoint, stations));
    InternetStackHelper internet;
    internet.Install(NodeContainer(accessPoint, stations));
    Ipv4AddressHelper network("10.0.0.0", "255.255.255.0");
    const Ipv4InterfaceContainer addresses = network.Assign(devices);
    if (!setting.queueDisc)
    {
        TrafficControlHelper().Uninstall(devices);
    }
    for (uint32_t station = 0; setting.greet && station < setting.stations; station++)
    {
        Ptr<Node> node = stations.Get(station);
        const uint16_t port = GREETING_PORT + station;
        const double start = 0.72 + 0.02 * station;
        Greet(node, accessPoint.Get(0), addresses.GetAddress(0), port, start);
        Greet(accessPoint.Get(0), node, addresses.GetAddress(station + 1), port, start + 0.01);
    }
    const auto sinks = InstallTraffic(setting, accessPoint.Get(0), stations, addresses);

    std::vector<uint64_t> before;
    Simulator::Schedule(Seconds(setting.warmUp), [&] {
        for (const auto& sink : sinks)
        {
            before.push_back(sink->GetTotalRx());
        }
    });
    Simulator::Stop(Seconds(setting.warmUp + setting.seconds));
    Simulator::Run();
    double sum = 0;
    double squares = 0;
    for (size_t station = 0; station < sinks.size(); station++)
    {
        const double bytes = sinks[station]->GetTotalRx() - before[station];
        sum += bytes;
        squares += bytes * bytes;
    }
    std::printf("%.4f %.4f\n",
                8 * sum / setting.seconds / 1e6,
                squares > 0 ? sum * sum / (setting.stations * squares) : 0.0);
    Simulator::Destroy();
    return 0;
}
