//! The functions of NCCL that are used here, with their signatures.

/// Passes the list to the macro `expand`.
///
/// It starts with functions that every supported release has. Newer ones follow, each with the
/// release that introduced it.
macro_rules! nccl_functions {
    ($expand:ident) => {
        $expand! {
            needed {
                ncclGetVersion(version: *mut i32) -> Status;
                ncclGetErrorString(result: Status) -> *const c_char;
                ncclGetUniqueId(unique_id: *mut UniqueId) -> Status;
                ncclCommInitRank(comm: *mut Comm, ranks: i32, id: UniqueId, rank: i32) -> Status;
                ncclCommDestroy(comm: Comm) -> Status;
                ncclCommAbort(comm: Comm) -> Status;
                ncclCommGetAsyncError(comm: Comm, error: *mut Status) -> Status;
                ncclGroupStart() -> Status;
                ncclGroupEnd() -> Status;
                ncclSend(from: *const c_void, count: usize, data_type: i32, peer: i32, comm: Comm, stream: CUstream) -> Status;
                ncclRecv(to: *mut c_void, count: usize, data_type: i32, peer: i32, comm: Comm, stream: CUstream) -> Status;
                ncclBroadcast(from: *const c_void, to: *mut c_void, count: usize, data_type: i32, root: i32, comm: Comm, stream: CUstream) -> Status;
                ncclAllGather(from: *const c_void, to: *mut c_void, count: usize, data_type: i32, comm: Comm, stream: CUstream) -> Status;
            }
            newer {
                ncclGetLastError(comm: Comm) -> *const c_char, since "2.13";
                ncclCommInitRankConfig(comm: *mut Comm, ranks: i32, id: UniqueId, rank: i32, config: *mut Config) -> Status, since "2.14";
                ncclCommFinalize(comm: Comm) -> Status, since "2.14";
            }
        }
    };
}

pub(super) use nccl_functions;
