//! The last write to a block and the reads since.
//!
//! They decide the order of new work.

use std::sync::Arc;

use crate::{
    error::DriverFault,
    ffi::{CudaStream, Events, SubmissionTurn},
};

/// The access of a submission to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockAccess {
    Read,
    Write,
}

/// The submissions that later ones on other streams must be ordered after.
///
/// They are the last write, and the reads since.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    write: Option<StreamUse>,
    reads: Vec<StreamUse>,
}

#[derive(Debug)]
struct StreamUse {
    stream: Arc<CudaStream>,
    at: u64,
}

impl Uses {
    /// The uses of memory that `home` has just taken: other streams must not use it before.
    pub(crate) fn born_on(home: &Arc<CudaStream>) -> Self {
        let at = home.issue(&home.context().turn());
        Self { write: Some(StreamUse { stream: Arc::clone(home), at }), reads: Vec::new() }
    }

    /// Orders number `at` of `stream` after the uses it must not overtake, and notes it.
    pub(crate) fn admit(
        &mut self,
        stream: &Arc<CudaStream>,
        at: u64,
        access: BlockAccess,
        events: &Events,
        turn: &SubmissionTurn<'_>,
    ) -> Result<(), DriverFault> {
        if let Some(write) = &self.write {
            stream.order_after(&write.stream, write.at, events, turn)?;
        }
        let new = StreamUse { stream: Arc::clone(stream), at };
        match access {
            BlockAccess::Write => {
                for read in &self.reads {
                    stream.order_after(&read.stream, read.at, events, turn)?;
                }
                self.reads.clear();
                self.write = Some(new);
            }
            BlockAccess::Read => {
                // What comes after this read comes after those that it comes after; else every stream that ever read would be kept.
                self.reads.retain(|read| !stream.is_after(&read.stream, read.at));
                self.reads.push(new);
            }
        }
        Ok(())
    }

    /// Orders later work of `home` after all uses.
    ///
    /// Waits on the host if that cannot be submitted. The caller holds no turn.
    pub(crate) fn settle(&mut self, home: &CudaStream, events: &Events) -> Result<(), DriverFault> {
        for used in self.write.iter().chain(&self.reads) {
            let ordered = home.order_after(&used.stream, used.at, events, &home.context().turn());
            if ordered.is_err() {
                used.stream.synchronize()?;
            }
        }
        Ok(())
    }
}
