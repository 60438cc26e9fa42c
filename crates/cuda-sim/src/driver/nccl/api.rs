//! The functions of NCCL.
//!
//! # Safety
//! Pointers are as NCCL requires of each function: null where it refuses that, else valid for its
//! reads and writes.
#![allow(non_snake_case, reason = "the functions carry the names of NCCL")]

use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_void},
};

use cuda_loader::{
    Status as Driver,
    ffi::CUstream,
    nccl::{Comm, Config, Status, Table, UniqueId},
};

use super::{
    clique::{JoinArguments, complete, join},
    group,
    meet::launch,
    operation::{NcclCall, OperationKind},
};
use crate::driver::{
    entry::{self, DriverCall, Needs},
    handle::{ApiHandle, Id},
    state::queue::WaitGoal,
};

/// The release that is simulated.
const VERSION: i32 = 22_703;

thread_local! {
    /// The text that `ncclGetLastError` returns.
    static LAST: RefCell<CString> = RefCell::default();
}

/// Every function.
pub(in crate::driver) fn table() -> Table {
    Table {
        ncclGetVersion: Some(ncclGetVersion),
        ncclGetErrorString: Some(ncclGetErrorString),
        ncclGetLastError: Some(ncclGetLastError),
        ncclGetUniqueId: Some(ncclGetUniqueId),
        ncclCommInitRank: Some(ncclCommInitRank),
        ncclCommInitRankConfig: Some(ncclCommInitRankConfig),
        ncclCommFinalize: Some(ncclCommFinalize),
        ncclCommDestroy: Some(ncclCommDestroy),
        ncclCommAbort: Some(ncclCommAbort),
        ncclCommGetAsyncError: Some(ncclCommGetAsyncError),
        ncclGroupStart: Some(ncclGroupStart),
        ncclGroupEnd: Some(ncclGroupEnd),
        ncclSend: Some(ncclSend),
        ncclRecv: Some(ncclRecv),
        ncclBroadcast: Some(ncclBroadcast),
        ncclAllGather: Some(ncclAllGather),
    }
}

/// Runs `body` as the call of function `name`; a failure within a group is the group's too.
fn call(name: &'static str, needs: Needs, body: impl FnOnce(&mut DriverCall) -> Result<(), Status>) -> Status {
    let outcome = entry::call(name, needs, |entry| body(entry).map_err(|status| Driver(status.0)));
    // Driver codes, such as the one for a lost context, are not NCCL codes.
    let status = if Status(outcome.0).name().is_some() { Status(outcome.0) } else { Status::UNHANDLED_CUDA_ERROR };
    if ![Status::SUCCESS, Status::IN_PROGRESS].contains(&status) {
        group::fail(status);
        LAST.set(CString::new(format!("{name}: {status}")).unwrap_or_default());
    }
    status
}

fn put<T>(out: *mut T, value: T) -> Result<(), Status> {
    if out.is_null() {
        return Err(Status::INVALID_ARGUMENT);
    }
    // SAFETY: the pointer is one of the call's and not null, so valid by NCCL's contract.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

unsafe extern "C" fn ncclGetVersion(version: *mut i32) -> Status {
    // The loader asks before a machine is there.
    match put(version, VERSION) {
        Ok(()) => Status::SUCCESS,
        Err(status) => status,
    }
}

unsafe extern "C" fn ncclGetErrorString(result: Status) -> *const c_char {
    let text = match result {
        Status::SUCCESS => c"no error",
        Status::UNHANDLED_CUDA_ERROR => c"unhandled cuda error",
        Status::SYSTEM_ERROR => c"unhandled system error",
        Status::INTERNAL_ERROR => c"internal error",
        Status::INVALID_ARGUMENT => c"invalid argument",
        Status::INVALID_USAGE => c"invalid usage",
        Status::REMOTE_ERROR => c"remote process exited or there was a network error",
        Status::IN_PROGRESS => c"NCCL operation in progress",
        _ => c"unknown result code",
    };
    text.as_ptr()
}

/// The text is valid until the next call that fails on this thread.
unsafe extern "C" fn ncclGetLastError(_comm: Comm) -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}

unsafe extern "C" fn ncclGetUniqueId(unique_id: *mut UniqueId) -> Status {
    call("ncclGetUniqueId", Needs::Driver, |entry| put(unique_id, entry.driver().unique_id()))
}

unsafe extern "C" fn ncclCommInitRank(comm: *mut Comm, ranks: i32, id: UniqueId, rank: i32) -> Status {
    call("ncclCommInitRank", Needs::Driver, |entry| {
        let made = join(entry, &JoinArguments { id, ranks, rank, non_blocking: false })?;
        put(comm, Comm::of(made))?;
        if group::is_open() {
            group::with(|group| group.joining.push(made));
            return Ok(());
        }
        complete(entry, &[made])
    })
}

unsafe extern "C" fn ncclCommInitRankConfig(
    comm: *mut Comm,
    ranks: i32,
    id: UniqueId,
    rank: i32,
    config: *mut Config,
) -> Status {
    // SAFETY: by NCCL's contract, the pointer is null or points to a record.
    let config = unsafe { config.as_ref() };
    if config.is_none_or(|config| config.blocking != 0) {
        // SAFETY: the same contract.
        return unsafe { ncclCommInitRank(comm, ranks, id, rank) };
    }
    call("ncclCommInitRankConfig", Needs::Driver, |entry| {
        if !config.is_some_and(Config::is_initialised) {
            return Err(Status::INVALID_ARGUMENT);
        }
        let made = join(entry, &JoinArguments { id, ranks, rank, non_blocking: true })?;
        put(comm, Comm::of(made))?;
        Err(Status::IN_PROGRESS)
    })
}

unsafe extern "C" fn ncclCommFinalize(comm: Comm) -> Status {
    call("ncclCommFinalize", Needs::Driver, |entry| {
        let driver = entry.driver();
        driver.standing(comm.id())?;
        let Some(state) = driver.comms.get_mut(&comm.id()) else { return Err(Status::INVALID_ARGUMENT) };
        if std::mem::replace(&mut state.finalized, true) {
            return Err(Status::INVALID_ARGUMENT);
        }
        state.busy = u32::from(state.non_blocking);
        if state.non_blocking { Err(Status::IN_PROGRESS) } else { flush(entry, comm.id()) }
    })
}

/// Waits for the operations of a communicator.
fn flush(entry: &mut DriverCall, comm: Id) -> Result<(), Status> {
    let leaves = entry.driver().comms.get(&comm).map(|state| state.leaves.clone()).unwrap_or_default();
    entry.wait(&WaitGoal::Tasks(leaves)).map_err(|_| Status::UNHANDLED_CUDA_ERROR)
}

unsafe extern "C" fn ncclCommDestroy(comm: Comm) -> Status {
    call("ncclCommDestroy", Needs::Release, |entry| {
        let flushed = flush(entry, comm.id());
        entry.driver().part(comm.id(), false)?;
        flushed
    })
}

unsafe extern "C" fn ncclCommAbort(comm: Comm) -> Status {
    call("ncclCommAbort", Needs::Release, |entry| {
        entry.driver().part(comm.id(), true)?;
        entry.settle();
        Ok(())
    })
}

unsafe extern "C" fn ncclCommGetAsyncError(comm: Comm, error: *mut Status) -> Status {
    call("ncclCommGetAsyncError", Needs::Driver, |entry| {
        let driver = entry.driver();
        let standing = driver.standing(comm.id());
        let state = driver.comms.get_mut(&comm.id()).ok_or(Status::INVALID_ARGUMENT)?;
        let answer = match standing {
            Ok(()) if state.busy > 0 => {
                state.busy -= 1;
                Status::IN_PROGRESS
            }
            Ok(()) => Status::SUCCESS,
            Err(status) => status,
        };
        put(error, answer)
    })
}

unsafe extern "C" fn ncclGroupStart() -> Status {
    call("ncclGroupStart", Needs::Driver, |_| {
        group::begin();
        Ok(())
    })
}

unsafe extern "C" fn ncclGroupEnd() -> Status {
    // However the call ends, the group has.
    let group = group::end();
    call("ncclGroupEnd", Needs::Driver, |entry| {
        let Some(group) = group? else { return Ok(()) };
        if let Some(failure) = group.failure {
            return Err(failure);
        }
        complete(entry, &group.joining)?;
        submit(entry, group.operations)
    })
}

/// Launches operations; communicators that do not block are busy then.
fn submit(entry: &mut DriverCall, operations: Vec<super::operation::NcclOperation>) -> Result<(), Status> {
    let comms: Vec<Id> = operations.iter().map(|operation| operation.comm).collect();
    launch(entry, operations)?;
    let is_busy = |comm: &Id| entry.driver().comms.get(comm).is_some_and(|comm| comm.busy > 0);
    if comms.iter().any(is_busy) { Err(Status::IN_PROGRESS) } else { Ok(()) }
}

fn operate(name: &'static str, asked: NcclCall) -> Status {
    call(name, Needs::Driver, |entry| {
        let operation = asked.operation(entry)?;
        if group::is_open() {
            group::with(|group| group.operations.push(operation));
            return Ok(());
        }
        submit(entry, vec![operation])
    })
}

unsafe extern "C" fn ncclSend(
    from: *const c_void,
    count: usize,
    data_type: i32,
    peer: i32,
    comm: Comm,
    stream: CUstream,
) -> Status {
    let (kind, from) = (OperationKind::Send { peer }, from.addr() as u64);
    operate("ncclSend", NcclCall { kind, from, to: 0, count, data_type, comm: comm.id(), stream })
}

unsafe extern "C" fn ncclRecv(
    to: *mut c_void,
    count: usize,
    data_type: i32,
    peer: i32,
    comm: Comm,
    stream: CUstream,
) -> Status {
    let (kind, to) = (OperationKind::Receive { peer }, to.addr() as u64);
    operate("ncclRecv", NcclCall { kind, from: 0, to, count, data_type, comm: comm.id(), stream })
}

unsafe extern "C" fn ncclBroadcast(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    data_type: i32,
    root: i32,
    comm: Comm,
    stream: CUstream,
) -> Status {
    let (kind, from, to) = (OperationKind::Broadcast { root }, from.addr() as u64, to.addr() as u64);
    operate("ncclBroadcast", NcclCall { kind, from, to, count, data_type, comm: comm.id(), stream })
}

unsafe extern "C" fn ncclAllGather(
    from: *const c_void,
    to: *mut c_void,
    count: usize,
    data_type: i32,
    comm: Comm,
    stream: CUstream,
) -> Status {
    let (from, to) = (from.addr() as u64, to.addr() as u64);
    operate(
        "ncclAllGather",
        NcclCall { kind: OperationKind::AllGather, from, to, count, data_type, comm: comm.id(), stream },
    )
}
