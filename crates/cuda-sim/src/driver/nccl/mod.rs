//! NCCL over the simulated driver: communicators of threads of one process.
//!
//! An operation is work on its stream, as on a device. Where it begins and where it ends are two
//! tasks; between them are copies, one for each part that a rank receives. A copy comes after the
//! beginning of the operation on both ranks, and the end of the operation on both ranks after the
//! copy. So a stream continues once all the data it sends and receives has been moved, no stream
//! overtakes another, and only the creation of blocking communicators waits for other ranks. An
//! operation that other ranks do not join blocks its stream until its communicator is aborted; a
//! waiting call gives up when no work has run or ended anywhere for 20 seconds, and returns that
//! the launch timed out.
//!
//! A rank whose context is lost moves nothing any more, so those that it meets wait like for one
//! that does not come. When a rank aborts, the others' asynchronous error is `ncclRemoteError`.
//! Communicators that do not block are busy for one question after each call.
//!
//! What differs from the library: operations cannot be captured (`ncclInvalidUsage`); one device
//! for two ranks of a clique is refused, as the library does; sizes that do not match are reported,
//! and are the asynchronous error `ncclInvalidUsage` of both ranks, where the library may wait for
//! ever or move part.

mod api;
mod clique;
mod group;
mod meet;
mod operation;

pub(super) use api::table;
