//! What there is without MPI.

use core::time::Duration;

use backend_api::CollectiveError;
use collective::{Call, Message, Transport};

use crate::JoinError;

/// A rank that is a process. There is none in a program without the feature `mpi`.
#[derive(Debug)]
pub enum Mpi {}

impl Mpi {
    /// Joins as the rank that MPI assigns. This build has no MPI.
    ///
    /// # Errors
    /// [`JoinError::NotBuilt`].
    pub fn join(_patience: Duration) -> Result<Self, JoinError> {
        Err(JoinError::NotBuilt)
    }
}

impl Transport for Mpi {
    type Received = Vec<u32>;

    fn rank(&self) -> usize {
        match *self {}
    }

    fn ranks(&self) -> usize {
        match *self {}
    }

    fn exchange(&self, _call: &Call, _message: Message<'_>) -> Result<Vec<Vec<u32>>, CollectiveError> {
        match *self {}
    }

    fn fail(&self, _why: CollectiveError) {
        match *self {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_joins_without_mpi_is_told_what_to_build() {
        let refused = Mpi::join(Duration::ZERO).unwrap_err();
        assert_eq!(refused, JoinError::NotBuilt);
        assert!(refused.to_string().contains("feature `mpi` of crate `collective-mpi`"), "{refused}");
    }
}
