// A stand-in for TiKV: the mock that TiKV's Go client is tested with, behind TiKV's own protocol.
package main

import (
	"context"
	"io"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"github.com/pingcap/kvproto/pkg/kvrpcpb"
	"github.com/pingcap/kvproto/pkg/metapb"
	"github.com/pingcap/kvproto/pkg/pdpb"
	"github.com/pingcap/kvproto/pkg/tikvpb"
	"github.com/tikv/client-go/v2/testutils"
	"github.com/tikv/client-go/v2/tikvrpc"
	"google.golang.org/grpc"
)

const (
	clusterID = 1
	version   = "mocktikv of client-go 2.0.4"
	standIn   = "the mock of TiKV's Go client, one process without Raft"
)

func main() {
	if len(os.Args) != 6 {
		log.Fatal("usage: tikv-standin PD:PORT STORE:PORT FOLDER none|txn|raw up|offline")
	}
	pdAddress, storeAddress := os.Args[1], os.Args[2]
	client, cluster, oracle, err := testutils.NewMockTiKV(os.Args[3], nil)
	if err != nil {
		log.Fatal(err)
	}
	ids := cluster.AllocIDs(3)
	label := &metapb.StoreLabel{Key: "stand-in", Value: standIn}
	cluster.AddStore(ids[0], storeAddress, label)
	cluster.Bootstrap(ids[1], ids[:1], ids[2:], ids[2])
	region := ids[1]
	for _, digit := range []string{"2", "5", "8"} {
		next, peer := cluster.AllocID(), cluster.AllocIDs(1)
		key := []byte("usertable:user" + digit)
		switch os.Args[4] {
		case "txn":
			cluster.Split(region, next, key, peer, peer[0])
		case "raw":
			cluster.SplitRaw(region, next, key, peer, peer[0])
		}
		region = next
	}
	if os.Args[5] == "offline" {
		cluster.StopStore(ids[0])
	}
	driver := &placement{
		url:     "http://" + pdAddress,
		cluster: cluster,
		now: func() (int64, int64) {
			physical, logical, _ := oracle.GetTS(context.Background())
			return physical, logical
		},
	}
	go serve(storeAddress, func(server *grpc.Server) {
		tikvpb.RegisterTikvServer(server, &store{client: client, address: storeAddress})
	})
	serve(pdAddress, func(server *grpc.Server) { pdpb.RegisterPDServer(server, driver) })
}

func serve(address string, register func(*grpc.Server)) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	register(server)
	log.Fatal(server.Serve(listener))
}

// The part of a placement driver that clients issue.
type placement struct {
	pdpb.UnimplementedPDServer
	url     string
	cluster *testutils.MockCluster
	now     func() (int64, int64)
}

func header() *pdpb.ResponseHeader { return &pdpb.ResponseHeader{ClusterId: clusterID} }

func (p *placement) GetMembers(
	context.Context, *pdpb.GetMembersRequest,
) (*pdpb.GetMembersResponse, error) {
	member := &pdpb.Member{
		Name: "stand-in", MemberId: 1, ClientUrls: []string{p.url}, BinaryVersion: "stand-in",
	}
	members := []*pdpb.Member{member}
	return &pdpb.GetMembersResponse{
		Header: header(), Members: members, Leader: member, EtcdLeader: member,
	}, nil
}

func (p *placement) Tso(stream pdpb.PD_TsoServer) error {
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		timestamp := p.timestamps(int64(request.Count))
		response := &pdpb.TsoResponse{
			Header: header(), Count: request.Count, Timestamp: timestamp,
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

// The last of count timestamps that follow one another and that nobody else has.
func (p *placement) timestamps(count int64) *pdpb.Timestamp {
	for {
		first, begin := p.now()
		last, end := first, begin
		for i := int64(1); i < count; i++ {
			last, end = p.now()
		}
		if first == last && end == begin+count-1 {
			return &pdpb.Timestamp{Physical: last, Logical: end}
		}
	}
}

func region(meta *metapb.Region, leader *metapb.Peer) *pdpb.GetRegionResponse {
	return &pdpb.GetRegionResponse{Header: header(), Region: meta, Leader: leader}
}

func (p *placement) GetRegion(
	_ context.Context, request *pdpb.GetRegionRequest,
) (*pdpb.GetRegionResponse, error) {
	meta, leader, _ := p.cluster.GetRegionByKey(request.RegionKey)
	return region(meta, leader), nil
}

func (p *placement) GetRegionByID(
	_ context.Context, request *pdpb.GetRegionByIDRequest,
) (*pdpb.GetRegionResponse, error) {
	meta, leader, _ := p.cluster.GetRegionByID(request.RegionId)
	return region(meta, leader), nil
}

func (p *placement) GetStore(
	_ context.Context, request *pdpb.GetStoreRequest,
) (*pdpb.GetStoreResponse, error) {
	meta := p.cluster.GetStore(request.StoreId)
	if meta != nil {
		meta.Version = version
	}
	stats := &pdpb.StoreStats{
		StoreId: request.StoreId, RegionCount: uint32(len(p.cluster.GetAllRegions())),
	}
	return &pdpb.GetStoreResponse{Header: header(), Store: meta, Stats: stats}, nil
}

func (p *placement) GetAllStores(
	context.Context, *pdpb.GetAllStoresRequest,
) (*pdpb.GetAllStoresResponse, error) {
	stores := p.cluster.GetAllStores()
	for _, meta := range stores {
		meta.Version = version
	}
	return &pdpb.GetAllStoresResponse{Header: header(), Stores: stores}, nil
}

func (p *placement) GetClusterConfig(
	context.Context, *pdpb.GetClusterConfigRequest,
) (*pdpb.GetClusterConfigResponse, error) {
	config := &metapb.Cluster{Id: clusterID, MaxPeerCount: 1}
	return &pdpb.GetClusterConfigResponse{Header: header(), Cluster: config}, nil
}

// The requests that clients send to a store, given to the mock.
type store struct {
	tikvpb.UnimplementedTikvServer
	client  *testutils.MockClient
	address string
}

type question interface{ GetContext() *kvrpcpb.Context }

func ask[A any](ctx context.Context, s *store, kind tikvrpc.CmdType, q question) (*A, error) {
	request := tikvrpc.NewRequest(kind, q)
	if about := q.GetContext(); about != nil {
		request.Context = *about
	}
	response, err := s.client.SendRequest(ctx, s.address, request, time.Minute)
	if err != nil {
		return nil, err
	}
	return response.Resp.(*A), nil
}

// The mock leaves the value empty where nothing is; TiKV says so besides.
func (s *store) KvGet(
	ctx context.Context, q *kvrpcpb.GetRequest,
) (*kvrpcpb.GetResponse, error) {
	answer, err := ask[kvrpcpb.GetResponse](ctx, s, tikvrpc.CmdGet, q)
	if err == nil && answer.Error == nil && answer.RegionError == nil {
		answer.NotFound = len(answer.Value) == 0
	}
	return answer, err
}

func (s *store) KvScan(
	ctx context.Context, q *kvrpcpb.ScanRequest,
) (*kvrpcpb.ScanResponse, error) {
	return ask[kvrpcpb.ScanResponse](ctx, s, tikvrpc.CmdScan, q)
}

func (s *store) KvBatchGet(
	ctx context.Context, q *kvrpcpb.BatchGetRequest,
) (*kvrpcpb.BatchGetResponse, error) {
	return ask[kvrpcpb.BatchGetResponse](ctx, s, tikvrpc.CmdBatchGet, q)
}

func (s *store) KvPrewrite(
	ctx context.Context, q *kvrpcpb.PrewriteRequest,
) (*kvrpcpb.PrewriteResponse, error) {
	return ask[kvrpcpb.PrewriteResponse](ctx, s, tikvrpc.CmdPrewrite, q)
}

func (s *store) KvCommit(
	ctx context.Context, q *kvrpcpb.CommitRequest,
) (*kvrpcpb.CommitResponse, error) {
	return ask[kvrpcpb.CommitResponse](ctx, s, tikvrpc.CmdCommit, q)
}

func (s *store) KvBatchRollback(
	ctx context.Context, q *kvrpcpb.BatchRollbackRequest,
) (*kvrpcpb.BatchRollbackResponse, error) {
	return ask[kvrpcpb.BatchRollbackResponse](ctx, s, tikvrpc.CmdBatchRollback, q)
}

func (s *store) KvPessimisticLock(
	ctx context.Context, q *kvrpcpb.PessimisticLockRequest,
) (*kvrpcpb.PessimisticLockResponse, error) {
	return ask[kvrpcpb.PessimisticLockResponse](ctx, s, tikvrpc.CmdPessimisticLock, q)
}

func (s *store) KVPessimisticRollback(
	ctx context.Context, q *kvrpcpb.PessimisticRollbackRequest,
) (*kvrpcpb.PessimisticRollbackResponse, error) {
	return ask[kvrpcpb.PessimisticRollbackResponse](ctx, s, tikvrpc.CmdPessimisticRollback, q)
}

// The mock tells how long a lock lives; TiKV tells which one that is besides.
func (s *store) KvCheckTxnStatus(
	ctx context.Context, q *kvrpcpb.CheckTxnStatusRequest,
) (*kvrpcpb.CheckTxnStatusResponse, error) {
	answer, err := ask[kvrpcpb.CheckTxnStatusResponse](ctx, s, tikvrpc.CmdCheckTxnStatus, q)
	if err == nil && answer.LockTtl > 0 && answer.LockInfo == nil {
		answer.LockInfo = &kvrpcpb.LockInfo{
			PrimaryLock: q.PrimaryKey, Key: q.PrimaryKey,
			LockVersion: q.LockTs, LockTtl: answer.LockTtl,
		}
	}
	return answer, err
}

func (s *store) KvTxnHeartBeat(
	ctx context.Context, q *kvrpcpb.TxnHeartBeatRequest,
) (*kvrpcpb.TxnHeartBeatResponse, error) {
	return ask[kvrpcpb.TxnHeartBeatResponse](ctx, s, tikvrpc.CmdTxnHeartBeat, q)
}

func (s *store) KvResolveLock(
	ctx context.Context, q *kvrpcpb.ResolveLockRequest,
) (*kvrpcpb.ResolveLockResponse, error) {
	return ask[kvrpcpb.ResolveLockResponse](ctx, s, tikvrpc.CmdResolveLock, q)
}

func (s *store) RawGet(
	ctx context.Context, q *kvrpcpb.RawGetRequest,
) (*kvrpcpb.RawGetResponse, error) {
	return ask[kvrpcpb.RawGetResponse](ctx, s, tikvrpc.CmdRawGet, q)
}

func (s *store) RawPut(
	ctx context.Context, q *kvrpcpb.RawPutRequest,
) (*kvrpcpb.RawPutResponse, error) {
	return ask[kvrpcpb.RawPutResponse](ctx, s, tikvrpc.CmdRawPut, q)
}

// The mock tells an empty value where nothing is; TiKV leaves such keys out.
func (s *store) RawBatchGet(
	ctx context.Context, q *kvrpcpb.RawBatchGetRequest,
) (*kvrpcpb.RawBatchGetResponse, error) {
	answer, err := ask[kvrpcpb.RawBatchGetResponse](ctx, s, tikvrpc.CmdRawBatchGet, q)
	if err != nil {
		return nil, err
	}
	var there []*kvrpcpb.KvPair
	for _, pair := range answer.Pairs {
		if pair.Error != nil || len(pair.Value) > 0 {
			there = append(there, pair)
		}
	}
	answer.Pairs = there
	return answer, nil
}

func (s *store) RawBatchPut(
	ctx context.Context, q *kvrpcpb.RawBatchPutRequest,
) (*kvrpcpb.RawBatchPutResponse, error) {
	return ask[kvrpcpb.RawBatchPutResponse](ctx, s, tikvrpc.CmdRawBatchPut, q)
}

func (s *store) RawDelete(
	ctx context.Context, q *kvrpcpb.RawDeleteRequest,
) (*kvrpcpb.RawDeleteResponse, error) {
	return ask[kvrpcpb.RawDeleteResponse](ctx, s, tikvrpc.CmdRawDelete, q)
}

func (s *store) RawDeleteRange(
	ctx context.Context, q *kvrpcpb.RawDeleteRangeRequest,
) (*kvrpcpb.RawDeleteRangeResponse, error) {
	return ask[kvrpcpb.RawDeleteRangeResponse](ctx, s, tikvrpc.CmdRawDeleteRange, q)
}

func (s *store) RawScan(
	ctx context.Context, q *kvrpcpb.RawScanRequest,
) (*kvrpcpb.RawScanResponse, error) {
	return ask[kvrpcpb.RawScanResponse](ctx, s, tikvrpc.CmdRawScan, q)
}

// The mock has no such request: each of its ranges becomes a scan.
func (s *store) RawBatchScan(
	ctx context.Context, q *kvrpcpb.RawBatchScanRequest,
) (*kvrpcpb.RawBatchScanResponse, error) {
	all := &kvrpcpb.RawBatchScanResponse{}
	for _, part := range q.Ranges {
		scanned, err := s.RawScan(ctx, &kvrpcpb.RawScanRequest{
			Context: q.Context, StartKey: part.StartKey, EndKey: part.EndKey, Limit: q.EachLimit,
		})
		if err != nil {
			return nil, err
		}
		if scanned.RegionError != nil {
			return &kvrpcpb.RawBatchScanResponse{RegionError: scanned.RegionError}, nil
		}
		all.Kvs = append(all.Kvs, scanned.Kvs...)
	}
	return all, nil
}

// Where nothing is, the mock tells an error; TiKV tells that nothing was there.
func (s *store) RawCompareAndSwap(
	ctx context.Context, q *kvrpcpb.RawCASRequest,
) (*kvrpcpb.RawCASResponse, error) {
	answer, err := ask[kvrpcpb.RawCASResponse](ctx, s, tikvrpc.CmdRawCompareAndSwap, q)
	if err == nil && strings.Contains(answer.Error, "not found") {
		return &kvrpcpb.RawCASResponse{PreviousNotExist: true}, nil
	}
	return answer, err
}
