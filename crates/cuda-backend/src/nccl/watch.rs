//! The thread that watches pending exchanges.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::Duration,
};

use collective::Transport;

use super::link::RankLink;
use crate::sync::lock;

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(50);

/// A thread that looks after a rank until it is stopped.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl Watch {
    pub(super) fn begin<T: Transport + 'static>(link: &Arc<RankLink<T>>) -> io::Result<Self> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (link, signal) = (Arc::clone(link), Arc::clone(&stop));
        let run = move || {
            let (stopped, changed) = &*signal;
            let mut state = lock(stopped);
            while !*state {
                state = changed.wait_timeout(state, PERIOD).unwrap_or_else(PoisonError::into_inner).0;
                if !*state {
                    drop(state);
                    link.look();
                    state = lock(stopped);
                }
            }
        };
        Ok(Self { stop, thread: thread::Builder::new().name("nccl-watch".to_owned()).spawn(run)? })
    }

    /// Stops it and waits for its end.
    pub(super) fn end(self) {
        let (stopped, changed) = &*self.stop;
        *lock(stopped) = true;
        changed.notify_all();
        let _panicked = self.thread.join();
    }
}
