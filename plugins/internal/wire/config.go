package wire

import (
	"doze/plugins/base"
	"doze/plugins/proto/basepb"
)

func ToConfig(pb *basepb.SetConfigRequest) base.Config {
	return base.Config{Raw: pb.GetMsgpackConfig(), APIVersion: pb.GetPluginApiVersion(),
		Agent: toAgent(pb.GetNomadConfig())}
}

func FromConfig(c base.Config) *basepb.SetConfigRequest {
	return &basepb.SetConfigRequest{MsgpackConfig: c.Raw, PluginApiVersion: c.APIVersion,
		NomadConfig: fromAgent(c.Agent)}
}

func toAgent(pb *basepb.NomadConfig) *base.Agent {
	if pb == nil {
		return nil
	}
	d := pb.GetDriver()
	return &base.Agent{MinPort: d.GetClientMinPort(), MaxPort: d.GetClientMaxPort(),
		Topology: toTopology(d.GetTopology())}
}

func fromAgent(a *base.Agent) *basepb.NomadConfig {
	if a == nil {
		return nil
	}
	return &basepb.NomadConfig{Driver: &basepb.NomadDriverConfig{
		ClientMinPort: a.MinPort, ClientMaxPort: a.MaxPort, Topology: fromTopology(a.Topology)}}
}

func toTopology(pb *basepb.ClientTopology) *base.Topology {
	if pb == nil {
		return nil
	}
	out := &base.Topology{Nodes: pb.GetNodeIds(),
		OverrideCompute: pb.GetOverrideTotalCompute(),
		WithheldCompute: pb.GetOverrideWitholdCompute()}
	for _, c := range pb.GetCores() {
		out.Cores = append(out.Cores, base.Core{
			Socket: c.GetSocketId(), Node: c.GetNodeId(), ID: c.GetCoreId(),
			Efficiency: c.GetCoreGrade() == basepb.CoreGrade_Efficiency, Disabled: c.GetDisable(),
			BaseSpeed: c.GetBaseSpeed(), MaxSpeed: c.GetMaxSpeed(), GuessedSpeed: c.GetGuessSpeed()})
	}
	return out
}

func fromTopology(t *base.Topology) *basepb.ClientTopology {
	if t == nil {
		return nil
	}
	out := &basepb.ClientTopology{NodeIds: t.Nodes,
		OverrideTotalCompute: t.OverrideCompute, OverrideWitholdCompute: t.WithheldCompute}
	for _, c := range t.Cores {
		grade := basepb.CoreGrade_Performance
		if c.Efficiency {
			grade = basepb.CoreGrade_Efficiency
		}
		out.Cores = append(out.Cores, &basepb.ClientTopologyCore{
			SocketId: c.Socket, NodeId: c.Node, CoreId: c.ID, CoreGrade: grade, Disable: c.Disabled,
			BaseSpeed: c.BaseSpeed, MaxSpeed: c.MaxSpeed, GuessSpeed: c.GuessedSpeed})
	}
	return out
}
