package wire

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"doze/plugins/drivers"
	"doze/plugins/proto/driverpb"
)

// FromExit is never nil. Codes beyond 32 bits become the nearest there is.
func FromExit(r drivers.ExitResult) *driverpb.ExitResult {
	return &driverpb.ExitResult{
		ExitCode: clamp(r.Code), Signal: clamp(r.Signal), OomKilled: r.OOMKilled}
}

func ToExit(pb *driverpb.ExitResult) drivers.ExitResult {
	return drivers.ExitResult{Code: int(pb.GetExitCode()), Signal: int(pb.GetSignal()),
		OOMKilled: pb.GetOomKilled()}
}

func clamp(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

// FromStatus leaves out nothing that an agent would follow unasked.
func FromStatus(s drivers.Status) *driverpb.InspectTaskResponse {
	return &driverpb.InspectTaskResponse{
		Task: &driverpb.TaskStatus{
			Id: s.ID, Name: s.Name, State: driverpb.TaskState(s.State),
			StartedAt: timestamp(s.StartedAt), CompletedAt: timestamp(s.CompletedAt),
			Result: FromExit(s.Exit),
		},
		Driver:          &driverpb.TaskDriverStatus{Attributes: s.Attributes},
		NetworkOverride: FromOverride(s.Network),
	}
}

func ToStatus(pb *driverpb.InspectTaskResponse) drivers.Status {
	t := pb.GetTask()
	return drivers.Status{
		ID: t.GetId(), Name: t.GetName(), State: drivers.TaskState(t.GetState()),
		StartedAt: toTime(t.GetStartedAt()), CompletedAt: toTime(t.GetCompletedAt()),
		Exit: ToExit(t.GetResult()), Attributes: pb.GetDriver().GetAttributes(),
		Network: ToOverride(pb.GetNetworkOverride()),
	}
}

// timestamp is valid for every time: agents fail on one beyond the years 1 to 9999.
func timestamp(t time.Time) *timestamppb.Timestamp {
	pb := timestamppb.New(t)
	if !pb.IsValid() {
		return timestamppb.New(time.Time{})
	}
	return pb
}

func toTime(pb *timestamppb.Timestamp) time.Time {
	if !pb.IsValid() {
		return time.Time{}
	}
	return pb.AsTime()
}

// ToDuration takes no duration, or a negative one, as 0.
func ToDuration(pb *durationpb.Duration) time.Duration { return max(0, pb.AsDuration()) }

func FromEvent(e drivers.Event) *driverpb.DriverTaskEvent {
	return &driverpb.DriverTaskEvent{TaskId: e.TaskID, AllocId: e.AllocID, TaskName: e.TaskName,
		Timestamp: timestamp(e.At), Message: e.Message, Annotations: e.Details}
}

func ToEvent(pb *driverpb.DriverTaskEvent) drivers.Event {
	return drivers.Event{TaskID: pb.GetTaskId(), AllocID: pb.GetAllocId(),
		TaskName: pb.GetTaskName(), At: toTime(pb.GetTimestamp()),
		Message: pb.GetMessage(), Details: pb.GetAnnotations()}
}
