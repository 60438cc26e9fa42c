//! NCCL between simulated devices: what ranks bring each other, in which order, and how they end.

use cuda_loader::{
    Status as Driver,
    ffi::{CUcontext, CUdeviceptr, CUgraph, CUstream},
    nccl::{Comm, Config, Functions, Status, UINT32, UniqueId, available},
};
use cuda_sim::driver::Report;

use crate::driver::bench::{Bench, enter, ok, status, written};

/// Calls a function of NCCL.
macro_rules! nccl {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every pointer that the tests pass is valid for what NCCL does with it, or wrong on purpose in a way that the simulated
        // one has to notice without following it.
        unsafe { (functions().$function)($($argument),*) }
    };
}

fn functions() -> &'static Functions {
    available().unwrap().functions()
}

/// One rank: a device with a stream and a communicator.
struct DeviceRank {
    context: CUcontext,
    stream: CUstream,
    comm: Comm,
}

impl DeviceRank {
    fn enter(&self) {
        ok!(cuCtxSetCurrent(self.context));
    }

    fn upload(&self, bench: &Bench, words: &[u32]) -> CUdeviceptr {
        self.enter();
        bench.upload(words)
    }

    fn words(&self, address: CUdeviceptr, len: usize) -> Vec<u32> {
        self.enter();
        ok!(cuStreamSynchronize(self.stream));
        let mut words = vec![0u32; len];
        ok!(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), address, len * 4));
        words
    }

    fn send(&self, from: CUdeviceptr, count: usize, peer: i32) -> Status {
        nccl!(ncclSend(pointer(from), count, UINT32, peer, self.comm, self.stream))
    }

    fn receive(&self, to: CUdeviceptr, count: usize, peer: i32) -> Status {
        nccl!(ncclRecv(pointer(to), count, UINT32, peer, self.comm, self.stream))
    }

    fn broadcast(&self, from: CUdeviceptr, to: CUdeviceptr, count: usize, root: i32) -> Status {
        nccl!(ncclBroadcast(pointer(from), pointer(to), count, UINT32, root, self.comm, self.stream))
    }

    fn all_gather(&self, from: CUdeviceptr, to: CUdeviceptr, count: usize) -> Status {
        nccl!(ncclAllGather(pointer(from), pointer(to), count, UINT32, self.comm, self.stream))
    }

    fn error(&self) -> Status {
        let mut error = Status(-1);
        assert_eq!(nccl!(ncclCommGetAsyncError(self.comm, &raw mut error)), Status::SUCCESS);
        error
    }

    fn is_idle(&self) -> bool {
        self.enter();
        status!(cuStreamQuery(self.stream)) == Driver::SUCCESS
    }
}

fn pointer(address: CUdeviceptr) -> *mut std::ffi::c_void {
    std::ptr::without_provenance_mut(address as usize)
}

fn unique_id() -> UniqueId {
    let mut id = UniqueId::default();
    assert_eq!(nccl!(ncclGetUniqueId(&raw mut id)), Status::SUCCESS);
    id
}

/// Ranks on devices of their own, made by one thread in a group.
fn ranks(bench: &Bench, count: u32) -> Vec<DeviceRank> {
    let id = unique_id();
    let mut ranks: Vec<DeviceRank> = (0..count)
        .map(|device| {
            let context = enter(device as i32);
            DeviceRank { context, stream: bench.stream(), comm: Comm::NULL }
        })
        .collect();
    assert_eq!(nccl!(ncclGroupStart()), Status::SUCCESS);
    for (rank, made) in (0..).zip(&mut ranks) {
        made.enter();
        assert_eq!(nccl!(ncclCommInitRank(&raw mut made.comm, count as i32, id, rank)), Status::SUCCESS);
    }
    assert_eq!(nccl!(ncclGroupEnd()), Status::SUCCESS);
    assert!(ranks.iter().all(|rank| rank.error() == Status::SUCCESS));
    ranks
}

/// Two ranks, each with four words on its device: its entry of `words`.
fn pair(bench: &Bench, words: [u32; 2]) -> (Vec<DeviceRank>, [CUdeviceptr; 2]) {
    let ranks = ranks(bench, 2);
    let addresses = [0, 1].map(|at| ranks[at].upload(bench, &[words[at]; 4]));
    (ranks, addresses)
}

fn part(ranks: &[DeviceRank]) {
    for rank in ranks {
        assert_eq!(nccl!(ncclCommDestroy(rank.comm)), Status::SUCCESS);
    }
}

fn abort(ranks: &[DeviceRank]) {
    for rank in ranks {
        assert_eq!(nccl!(ncclCommAbort(rank.comm)), Status::SUCCESS);
    }
}

const SPECS: [&str; 4] = [
    "devices=4",
    "devices=4;schedule=lazy;checks=sanitize",
    "devices=4;schedule=random;seed=3;checks=sanitize",
    "devices=4;schedule=random;seed=8;links=0-1:nvlink",
];

#[test]
fn every_rank_gets_what_the_definitions_say() {
    for spec in SPECS {
        let bench = Bench::new(spec);
        let ranks = ranks(&bench, 3);
        let own = |rank: usize| [1, 2].map(|word| 10 * rank as u32 + word);
        let sources: Vec<_> = ranks.iter().enumerate().map(|(at, rank)| rank.upload(&bench, &own(at))).collect();
        let targets: Vec<_> = ranks.iter().map(|rank| rank.upload(&bench, &[99; 6])).collect();
        for (rank, (&from, &to)) in ranks.iter().zip(sources.iter().zip(&targets)) {
            assert_eq!(rank.all_gather(from, to, 2), Status::SUCCESS);
            assert_eq!(rank.broadcast(from, to + 4, 1, 2), Status::SUCCESS);
        }
        for (rank, &to) in ranks.iter().zip(&targets) {
            assert_eq!(rank.words(to, 6), [1, 21, 11, 12, 21, 22], "{spec}");
        }
        // Each rank sends its first word to the next and gets one from the one before, which no order of single calls could do.
        for (at, rank) in ranks.iter().enumerate() {
            assert_eq!(nccl!(ncclGroupStart()), Status::SUCCESS);
            assert_eq!(rank.send(sources[at], 1, (at as i32 + 1) % 3), Status::SUCCESS);
            assert_eq!(rank.receive(targets[at] + 20, 1, (at as i32 + 2) % 3), Status::SUCCESS);
            assert_eq!(nccl!(ncclGroupEnd()), Status::SUCCESS);
        }
        for (at, rank) in ranks.iter().enumerate() {
            assert_eq!(rank.words(targets[at] + 20, 1), [own((at + 2) % 3)[0]], "{spec}");
        }
        let counted = bench.session.counters().nccl_bytes;
        let of = |from: u32, to: u32| 8 + if from == 2 { 4 } else { 0 } + if to == (from + 1) % 3 { 4 } else { 0 };
        let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
        assert_eq!(counted, pairs.map(|(from, to)| ((from, to), of(from, to))).into());
        part(&ranks);
        assert_eq!(bench.session.reports(), [], "{spec}");
    }
}

#[test]
fn an_operation_is_work_on_its_stream() {
    for spec in SPECS {
        for count in [3, 4] {
            let bench = Bench::new(spec);
            let (ranks, [from, to]) = pair(&bench, [7; 2]);
            ranks[0].enter();
            ok!(cuMemsetD32Async(from, 1, 4, ranks[0].stream));
            assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
            // Written after the operation, so not before it has brought what was there.
            ok!(cuMemsetD32Async(from, 2, 4, ranks[0].stream));
            assert!(count == 4 || !ranks[0].is_idle(), "the other rank has not come");
            ranks[1].enter();
            ok!(cuMemsetD32Async(to, 3, 4, ranks[1].stream));
            assert_eq!(ranks[1].receive(to, count, 0), Status::SUCCESS, "{spec}");
            if count == 3 {
                assert_eq!(bench.session.reports().len(), 1, "{:?}", bench.session.reports());
                abort(&ranks);
                continue;
            }
            assert_eq!(ranks[1].words(to, 4), [1; 4], "{spec}");
            assert_eq!(ranks[0].words(from, 4), [2; 4], "{spec}");
            part(&ranks);
            assert_eq!(bench.session.reports(), [], "{spec}");
        }
    }
}

#[test]
fn work_of_another_stream_that_nothing_orders_is_reported() {
    let bench = Bench::new("devices=2;schedule=lazy;checks=sanitize");
    let (ranks, [from, to]) = pair(&bench, [7; 2]);
    assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
    assert_eq!(ranks[1].receive(to, 4, 0), Status::SUCCESS);
    ranks[0].enter();
    let other = bench.stream();
    ok!(cuMemsetD32Async(from, 2, 4, other));
    ok!(cuStreamSynchronize(other));
    ok!(cuStreamSynchronize(ranks[0].stream));
    let reports = bench.session.reports();
    assert!(matches!(&reports[..], [Report::Unordered { .. }]), "{reports:?}");
}

#[test]
fn communicators_that_do_not_block_are_busy_after_each_call() {
    let bench = Bench::new("devices=2");
    let (id, mut config) = (unique_id(), Config::non_blocking());
    let mut comms = [Comm::NULL; 2];
    let join = functions().ncclCommInitRankConfig.unwrap();
    let mut ranks: Vec<DeviceRank> = Vec::new();
    for rank in 0..2 {
        let context = enter(rank);
        // SAFETY: the pointers are to a communicator and a record.
        let joined = unsafe { join(&raw mut comms[rank as usize], 2, id, rank, &raw mut config) };
        assert_eq!(joined, Status::IN_PROGRESS);
        ranks.push(DeviceRank { context, stream: bench.stream(), comm: comms[rank as usize] });
        if rank == 0 {
            assert_eq!([ranks[0].error(), ranks[0].error()], [Status::IN_PROGRESS; 2], "the other has not come");
        }
    }
    let word = ranks[0].upload(&bench, &[5]);
    assert_eq!(ranks[0].send(word, 1, 1), Status::INVALID_ARGUMENT, "before it is ready");
    assert_eq!([ranks[0].error(), ranks[0].error()], [Status::IN_PROGRESS, Status::SUCCESS]);
    assert_eq!(ranks[0].send(word, 1, 1), Status::IN_PROGRESS);
    assert_eq!(ranks[0].send(word, 1, 1), Status::INVALID_ARGUMENT, "before the first is done");
    assert_eq!([ranks[0].error(), ranks[0].error()], [Status::IN_PROGRESS, Status::SUCCESS]);
}

#[test]
fn what_is_wrong_is_refused_as_the_library_does() {
    let bench = Bench::new("devices=3");
    let (ranks, id) = (ranks(&bench, 2), unique_id());
    let [own, foreign] = [0, 1].map(|at| ranks[at].upload(&bench, &[7; 4]));
    let rank = &ranks[0];
    rank.enter();
    let refused = Status::INVALID_ARGUMENT;
    assert_eq!(rank.send(foreign, 4, 1), refused, "memory of another device");
    assert_eq!(rank.send(own, 5, 1), refused, "beyond the end");
    assert_eq!(rank.send(0x1234, 1, 1), refused, "no memory");
    assert_eq!([rank.send(own, 4, 2), rank.send(own, 4, -1)], [refused; 2], "no rank");
    assert_eq!(nccl!(ncclSend(pointer(own), 4, 12, 1, rank.comm, rank.stream)), refused, "no type");
    assert_eq!(nccl!(ncclSend(pointer(own), 4, UINT32, 1, Comm::NULL, rank.stream)), refused, "no communicator");
    let cuda = Status::UNHANDLED_CUDA_ERROR;
    assert_eq!(nccl!(ncclSend(pointer(own), 4, UINT32, 1, rank.comm, ranks[1].stream)), cuda, "stream of another");
    assert_eq!(nccl!(ncclGroupEnd()), Status::INVALID_USAGE, "no group");
    let mut made = Comm::NULL;
    assert_eq!(nccl!(ncclCommInitRank(&raw mut made, 2, UniqueId::default(), 0)), Status::SYSTEM_ERROR, "no such id");
    assert_eq!(nccl!(ncclCommInitRank(&raw mut made, 2, id, 2)), refused, "no such rank");
    assert_eq!(nccl!(ncclGetUniqueId(std::ptr::null_mut())), refused);

    // What fails in a group fails the group, and nothing of it is launched.
    assert_eq!(nccl!(ncclGroupStart()), Status::SUCCESS);
    assert_eq!(rank.send(own, 4, 1), Status::SUCCESS);
    assert_eq!(rank.send(own, 4, 7), refused);
    assert_eq!(nccl!(ncclGroupEnd()), refused);
    assert!(rank.is_idle());

    // One device for two ranks.
    assert_eq!(nccl!(ncclGroupStart()), Status::SUCCESS);
    for place in 0..2 {
        assert_eq!(nccl!(ncclCommInitRank(&raw mut made, 2, id, place)), Status::SUCCESS);
    }
    assert_eq!(nccl!(ncclGroupEnd()), Status::INVALID_USAGE);

    // Nothing can be captured.
    ok!(cuStreamBeginCapture_v2(rank.stream, 2));
    assert_eq!(rank.send(own, 4, 1), Status::INVALID_USAGE);
    written(CUgraph::NULL, |graph| status!(cuStreamEndCapture(rank.stream, graph)));

    part(&ranks);
    assert_eq!(nccl!(ncclCommDestroy(rank.comm)), refused, "destroyed already");
    assert_eq!(rank.send(own, 4, 1), refused, "destroyed");
}

#[test]
fn a_rank_that_does_not_come_keeps_others_until_they_abort() {
    for spec in SPECS {
        let bench = Bench::new(spec);
        let ranks = ranks(&bench, 3);
        let words = [0, 1, 2].map(|at| ranks[at].upload(&bench, &[at as u32; 2]));
        for at in 0..2 {
            assert_eq!(ranks[at].broadcast(words[at], words[at], 2, 0), Status::SUCCESS);
        }
        assert!(!ranks[0].is_idle());
        assert_eq!(nccl!(ncclCommAbort(ranks[2].comm)), Status::SUCCESS);
        assert_eq!([0, 1].map(|at| ranks[at].error()), [Status::REMOTE_ERROR; 2]);
        assert_eq!(ranks[1].send(words[1], 1, 0), Status::REMOTE_ERROR, "{spec}");
        // A thread that waits goes on when another one aborts.
        test_process::scope(|scope| {
            let waiting = scope.spawn(|| ranks[0].words(words[0], 2));
            abort(&ranks[..2]);
            assert_eq!(waiting.join().unwrap(), [0; 2]);
        });
        assert_eq!(ranks[1].words(words[1], 2), [0; 2], "what had met was brought");
    }
}

#[test]
fn sizes_that_do_not_match_are_reported_and_end_in_an_abort() {
    let bench = Bench::new("devices=2;schedule=lazy");
    let (ranks, [from, to]) = pair(&bench, [0, 1]);
    assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
    assert_eq!(ranks[1].receive(to, 3, 0), Status::SUCCESS);
    assert_eq!([0, 1].map(|at| ranks[at].error()), [Status::INVALID_USAGE; 2]);
    let reports = bench.session.reports();
    let text = "NCCL: ncclSend of 16 bytes (root 0) meets ncclSend of 12 bytes (root 0)";
    assert_eq!(reports.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
    abort(&ranks);
    assert_eq!(ranks[1].words(to, 4), [1; 4]);
}

#[test]
fn a_rank_whose_device_is_lost_brings_nothing() {
    let bench = Bench::new("devices=2;schedule=lazy;late=700@cuMemsetD32Async:1");
    let (ranks, [from, to]) = pair(&bench, [0, 1]);
    ranks[0].enter();
    ok!(cuMemsetD32Async(from, 9, 4, ranks[0].stream));
    assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
    assert_eq!(ranks[1].receive(to, 4, 0), Status::SUCCESS);
    assert_eq!(status!(cuStreamSynchronize(ranks[0].stream)), Driver::ILLEGAL_ADDRESS);
    assert_eq!(ranks[0].send(from, 4, 1), Status::UNHANDLED_CUDA_ERROR);
    assert!((0..5).all(|_| !ranks[1].is_idle()));
    assert_eq!(nccl!(ncclCommAbort(ranks[1].comm)), Status::SUCCESS);
    assert_eq!(ranks[1].words(to, 4), [1; 4]);
    assert_eq!(nccl!(ncclCommAbort(ranks[0].comm)), Status::SUCCESS);
}

#[test]
fn what_an_aborted_rank_waits_for_is_waited_for_no_more() {
    let bench = Bench::new("devices=2;schedule=lazy;late=700@cuMemsetD32Async:1");
    let (ranks, [from, to]) = pair(&bench, [0, 1]);
    ranks[0].enter();
    ok!(cuMemsetD32Async(from, 9, 4, ranks[0].stream));
    assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
    assert_eq!(ranks[1].receive(to, 4, 0), Status::SUCCESS);
    // Nothing has run yet: the device is lost after the abort.
    assert_eq!(nccl!(ncclCommAbort(ranks[1].comm)), Status::SUCCESS);
    assert_eq!(ranks[1].words(to, 4), [1; 4]);
}

#[test]
fn faults_are_injected_by_function_and_by_class() {
    let bench = Bench::new("devices=2");
    let (ranks, [from, to]) = pair(&bench, [0, 1]);
    bench.session.inject("fail=3@ncclSend:1".parse().unwrap());
    assert_eq!(ranks[0].send(from, 4, 1), Status::INTERNAL_ERROR);
    bench.session.inject("fail=2@nccl:3".parse().unwrap());
    assert_eq!(nccl!(ncclGroupStart()), Status::SUCCESS);
    assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
    assert_eq!(nccl!(ncclGroupEnd()), Status::SYSTEM_ERROR, "the group is gone");
    assert_eq!(ranks[0].send(from, 4, 1), Status::SUCCESS);
    assert_eq!(ranks[1].receive(to, 4, 0), Status::SUCCESS);
    assert_eq!(ranks[1].words(to, 4), [0; 4]);
    assert_eq!(bench.session.counters().calls_of("ncclSend"), 3);
    part(&ranks);
}

#[test]
fn a_context_that_still_has_a_communicator_leaks_it() {
    let bench = Bench::new("devices=2");
    let _ranks = ranks(&bench, 2);
    ok!(cuDevicePrimaryCtxRelease_v2(1));
    let reports = bench.session.reports();
    let [Report::Leak(leak)] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(leak.communicators, 1);
}

#[test]
fn elements_of_every_type_arrive_and_none_is_nothing() {
    let bench = Bench::new("devices=2");
    let (ranks, [from, to]) = pair(&bench, [0, 1]);
    // Bytes of the types as NCCL numbers them.
    for (data_type, bytes) in (0..).zip([1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1]) {
        let before = bench.session.counters().nccl_bytes.get(&(0, 1)).copied().unwrap_or(0);
        let (sender, receiver) = (&ranks[0], &ranks[1]);
        let sent = nccl!(ncclSend(pointer(from), 2, data_type, 1, sender.comm, sender.stream));
        let received = nccl!(ncclRecv(pointer(to), 2, data_type, 0, receiver.comm, receiver.stream));
        assert_eq!([sent, received], [Status::SUCCESS; 2], "{data_type}");
        assert_eq!(bench.session.counters().nccl_bytes[&(0, 1)] - before, 2 * bytes, "{data_type}");
    }
    assert_eq!(ranks[1].words(to, 4), [0; 4]);
    assert_eq!(ranks[0].send(0x1234, 0, 1), Status::SUCCESS);
    assert!(ranks[0].is_idle());
    assert_eq!(ranks[0].send(from, usize::MAX, 1), Status::INVALID_ARGUMENT);
    assert_eq!(ranks[0].send(from, usize::MAX / 4, 1), Status::INVALID_ARGUMENT);
    part(&ranks);
}

#[test]
fn shares_in_place_are_sent_to_the_others_alone() {
    let bench = Bench::new("devices=3");
    let ranks = ranks(&bench, 3);
    let buffers = [0, 1, 2].map(|at| {
        let mut words = [99; 6];
        words[2 * at..][..2].fill(at as u32);
        ranks[at].upload(&bench, &words)
    });
    for (at, rank) in ranks.iter().enumerate() {
        assert_eq!(rank.all_gather(buffers[at] + 8 * at as u64, buffers[at], 2), Status::SUCCESS);
        assert_eq!(rank.broadcast(buffers[at] + 20, buffers[at] + 20, 1, 1), Status::SUCCESS);
    }
    for (rank, &buffer) in ranks.iter().zip(&buffers) {
        assert_eq!(rank.words(buffer, 6), [0, 0, 1, 1, 2, 2]);
    }
    let pairs = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)];
    let expected = pairs.map(|(from, to)| ((from, to), if from == 1 { 12 } else { 8 }));
    assert_eq!(bench.session.counters().nccl_bytes, expected.into());
    part(&ranks);
    assert_eq!(bench.session.reports(), []);
}

#[test]
fn a_rank_joins_once_and_with_the_number_of_ranks_of_the_first() {
    let _bench = Bench::new("devices=3");
    let (id, mut made) = (unique_id(), [Comm::NULL; 2]);
    assert_eq!(nccl!(ncclGroupStart()), Status::SUCCESS);
    let join = |comm: &mut Comm, count: i32, rank: i32| nccl!(ncclCommInitRank(comm, count, id, rank));
    assert_eq!(join(&mut made[0], 2, 0), Status::SUCCESS);
    for (count, rank) in [(2, 0), (3, 1), (1, 0), (2, 2), (2, -1), (0, 0)] {
        assert_eq!(join(&mut made[1], count, rank), Status::INVALID_ARGUMENT, "{rank} of {count}");
    }
    assert_eq!(nccl!(ncclGroupEnd()), Status::INVALID_ARGUMENT);
    assert_eq!(nccl!(ncclCommAbort(made[0])), Status::SUCCESS);
    // SAFETY: all fields are numbers, for which zero is a value.
    let mut unmade: Config = unsafe { std::mem::zeroed() };
    let configured = functions().ncclCommInitRankConfig.unwrap();
    // SAFETY: the pointers are to a communicator and a record.
    let joined = unsafe { configured(&raw mut made[1], 2, unique_id(), 0, &raw mut unmade) };
    assert_eq!(joined, Status::INVALID_ARGUMENT);
}

#[test]
fn a_communicator_ends_once_and_carries_nothing_then() {
    let bench = Bench::new("devices=2");
    let ranks = ranks(&bench, 2);
    let own = ranks[0].upload(&bench, &[7; 4]);
    // The end of a group within another launches nothing.
    assert_eq!([nccl!(ncclGroupStart()), nccl!(ncclGroupStart())], [Status::SUCCESS; 2]);
    assert_eq!(ranks[0].send(own, 4, 1), Status::SUCCESS);
    assert_eq!(nccl!(ncclGroupEnd()), Status::SUCCESS);
    assert!(ranks[0].is_idle());
    assert_eq!(nccl!(ncclGroupEnd()), Status::SUCCESS);
    assert!(!ranks[0].is_idle());
    let to = ranks[1].upload(&bench, &[1; 4]);
    assert_eq!(ranks[1].receive(to, 4, 0), Status::SUCCESS);
    assert_eq!(ranks[1].words(to, 4), [7; 4]);
    let finalize = functions().ncclCommFinalize.unwrap();
    // SAFETY: a communicator is a name that only NCCL resolves.
    let finalized = |rank: &DeviceRank| unsafe { finalize(rank.comm) };
    ranks[0].enter();
    assert_eq!([finalized(&ranks[0]), finalized(&ranks[0])], [Status::SUCCESS, Status::INVALID_ARGUMENT]);
    assert_eq!((ranks[0].error(), ranks[0].send(own, 4, 1)), (Status::SUCCESS, Status::INVALID_USAGE));
    assert_eq!(nccl!(ncclCommDestroy(ranks[0].comm)), Status::SUCCESS);
    // A message to a rank that has left is not sent.
    ranks[1].enter();
    assert_eq!(ranks[1].send(to, 4, 0), Status::REMOTE_ERROR);
    assert_eq!(nccl!(ncclCommDestroy(ranks[1].comm)), Status::SUCCESS);
}
