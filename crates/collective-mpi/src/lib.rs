//! Ranks that are processes, on one machine or on many, as MPI starts and connects them.
//!
//! [`Mpi`] is a [`Transport`](collective::Transport): [`Staged`](collective::Staged) makes a
//! [`Collective`](backend_api::Collective) of it. Each process that `mpirun` started joins once.
//!
//! ```no_run
//! use backend_api::{Buffer, Collective, Queue, Ranks};
//! use collective::{PATIENCE, Staged};
//! use collective_mpi::Mpi;
//!
//! let (q, ranks) = (runtime::cpu()?, Staged::new(Mpi::join(PATIENCE)?));
//! let mut sums = q.zeros::<u32>(ranks.ranks())?;
//! let own = ranks.rank();
//! q.write(&[7 + own as u32], sums.slice_mut(own..own + 1)?)?;
//! let shares: Vec<_> = (0..ranks.ranks()).map(|rank| rank..rank + 1).collect();
//! ranks.all_gather(&q, &mut sums, &shares)?; // 7, 8, 9, ... on every rank
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! `mpi`, off by default, adds MPI by crate `mpi`. Without it, [`Mpi::join`] fails with
//! [`JoinError::NotBuilt`], and nothing else is different.
#![forbid(unsafe_code)]

#[cfg(not(feature = "mpi"))]
mod absent;
#[cfg(feature = "mpi")]
mod agent;
mod error;
#[cfg(feature = "mpi")]
mod exchange;
#[cfg(feature = "mpi")]
mod flight;
#[cfg(any(feature = "mpi", test))]
mod group;
#[cfg(feature = "mpi")]
mod process;
#[cfg(any(feature = "mpi", test))]
mod wire;

#[cfg(not(feature = "mpi"))]
pub use absent::Mpi;
pub use error::JoinError;
#[cfg(feature = "mpi")]
pub use process::Mpi;
