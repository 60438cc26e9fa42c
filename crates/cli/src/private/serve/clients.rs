//! The clients of a server: accepted one after another, and served at once.

use core::{fmt, time::Duration};
use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
};

use indicatif::ProgressBar;
use inference::{
    InferenceError,
    party::{Inferred, Role},
    tls::{AcceptedPeer, Fingerprint, PeerListener, TlsError},
};
use pfss::Party;
use runtime::AnyQueue;

use super::{
    log::{LoggedRun, RunLog, now},
    pool::{AdmittedClient, Pool, PooledFolder, RunStart, lock},
    stop,
};
use crate::{
    exit::say,
    output::OutputFile,
    private::{GREETING, PartyReport, advance, refusals, steps_bar},
};

/// Time between two looks while all places are taken.
const POLL: Duration = Duration::from_millis(20);

/// A server with a queue for each client that it serves at once.
pub(super) struct Server<'a> {
    pool: &'a Pool,
    queues: &'a [AnyQueue],
    /// Queues that no client uses.
    free: Mutex<Vec<usize>>,
    log: Option<&'a RunLog>,
    /// Whether the pool began with a single run, which is reported in full.
    is_single: bool,
    json: Mutex<Option<OutputFile>>,
    results: Mutex<ServedRuns>,
}

/// Results of the runs.
#[derive(Default)]
pub(super) struct ServedRuns {
    /// Runs that succeeded.
    pub(super) served: usize,
    /// Why runs failed.
    pub(super) failures: Vec<anyhow::Error>,
}

impl<'a> Server<'a> {
    /// A server of all runs of `pool`. `json` is for the report of a single run.
    pub(super) fn new(
        pool: &'a Pool,
        queues: &'a [AnyQueue],
        log: Option<&'a RunLog>,
        json: Option<OutputFile>,
    ) -> Self {
        let (free, is_single) = (Mutex::new((0..queues.len()).collect()), pool.unused() == 1);
        Self { pool, queues, free, log, is_single, json: Mutex::new(json), results: Mutex::default() }
    }

    /// Serves clients until no run is left or a signal comes.
    ///
    /// It returns when all accepted clients have ended.
    ///
    /// # Errors
    /// [`TlsError::NoPeer`] if no client has come for as long as `patience` and none is running,
    /// and as [`PeerListener::accept`].
    pub(super) fn serve(&self, mut listener: PeerListener, patience: Option<Duration>) -> Result<(), InferenceError> {
        thread::scope(|scope| {
            let mut refused = refusals();
            let ended = || stop::is_requested() || self.pool.is_spent();
            while !ended() {
                if !self.pool.has_room(self.queues.len()) {
                    thread::sleep(POLL);
                    continue;
                }
                match listener.accept(patience, &mut refused, ended) {
                    Ok(Some(peer)) => match self.pool.admit(peer.index()) {
                        Ok(admitted) => {
                            if !self.pool.has_room(self.queues.len()) {
                                // Clients may need the file descriptors; no handshake continues before a place is free.
                                listener.drop_handshakes();
                            }
                            scope.spawn(move || self.client(peer, admitted));
                        }
                        Err(reason) => refuse(&reason),
                    },
                    Ok(None) => break,
                    // The next client may wait for a run in progress to end.
                    Err(TlsError::NoPeer { .. }) if self.pool.running() > 0 => {}
                    Err(error) => return Err(error.into()),
                }
            }
            // Whoever comes from now on is refused by the system, and does not wait for an answer.
            drop(listener);
            let running = self.pool.running();
            if stop::is_requested() && running > 0 {
                say("note", &format!("waiting for {running} running clients; another signal ends them"));
            }
            Ok(())
        })
    }

    /// Results of the runs so far.
    pub(super) fn into_results(self) -> ServedRuns {
        self.results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a client on a free queue.
    fn client(&self, peer: AcceptedPeer, mut admitted: AdmittedClient<'_>) {
        let free = lock(&self.free).pop();
        let Some(index) = free else { return }; // there is one for each client
        self.run(&self.queues[index], peer, &mut admitted);
        // Before the client is no longer counted.
        lock(&self.free).push(index);
        drop(admitted);
    }

    fn run(&self, q: &AnyQueue, peer: AcceptedPeer, admitted: &mut AdmittedClient<'_>) {
        let (client, connection) = (peer.fingerprint(), peer.connection());
        let (folder, start) = (admitted.folder(), Instant::now());
        let named = |error: InferenceError| error.over(&connection);
        let bar = match self.is_single {
            true => steps_bar(self.pool.steps(), "serve").unwrap_or_else(|_| ProgressBar::hidden()),
            false => ProgressBar::hidden(),
        };
        let progress = |step: &str| advance(&bar, step);

        // Until keys are spent, a client that fails costs nothing.
        let mut channel = match peer.channel() {
            Ok(channel) => channel,
            Err(error) => return refuse(&named(InferenceError::from(error).in_step(Party::Zero, GREETING))),
        };
        let run = match admitted.begin(q, &mut channel, progress) {
            RunStart::Run(run) => run,
            RunStart::Refused(error) => return refuse(&named(error)),
            RunStart::Lost(error) => return self.end(folder, client, None, start, Err(named(error).into())),
        };

        // The run. Its end does not affect others.
        let (number, planned, key_bytes) = (run.number(), run.traffic(), run.key_bytes());
        let done = run.run(q, channel, Role::Server(&folder.weights), progress);
        bar.finish_and_clear();
        let report = |done: &Inferred| PartyReport::new(&folder.model, Party::One, planned, key_bytes, done);
        let done = done.map(|done| (report(&done), done)).map_err(|error| named(error).into());
        self.end(folder, client, number, start, done);
    }

    /// Logs, reports and counts a run whose keys are spent.
    fn end(
        &self,
        folder: &PooledFolder,
        client: Fingerprint,
        run: Option<u32>,
        start: Instant,
        done: anyhow::Result<(PartyReport, Inferred)>,
    ) {
        let traffic = done.as_ref().ok().map(|(_, done)| done.traffic);
        let line = LoggedRun {
            time: now(),
            folder: folder.path.display().to_string(),
            run,
            client: client.to_string(),
            model: folder.model.architecture().name().to_owned(),
            images: folder.model.count(),
            seconds: start.elapsed().as_secs_f64(),
            sent_bytes: traffic.map(|traffic| traffic.sent_bytes),
            received_bytes: traffic.map(|traffic| traffic.received_bytes),
            rounds: traffic.map(|traffic| traffic.rounds),
            outcome: done.as_ref().map_or_else(|error| format!("{error:#}"), |_| "ok".to_owned()),
        };
        let logged = self.log.map_or(Ok(()), |log| log.append(&line));
        if let Err(error) = &logged {
            say("warning", &format!("{error:#}"));
        }
        let name = match run {
            Some(run) => format!("{}, run {run}", line.folder),
            None => line.folder,
        };
        let reported = match done {
            Ok((report, _)) if self.is_single => report.print(lock(&self.json).take()),
            Ok((report, _)) => report.print_line(&name),
            Err(error) => {
                // The error of a single run ends the program, and the error of one of many names its folder.
                match run {
                    _ if self.is_single => {}
                    Some(_) => say("warning", &format!("{error:#}")),
                    None => say("warning", &format!("{name}: {error:#}")),
                }
                Err(error)
            }
        };
        let mut results = lock(&self.results);
        match reported.and(logged) {
            Ok(()) => results.served += 1,
            Err(error) => results.failures.push(error),
        }
    }
}

/// Reports a client that has not begun a run.
fn refuse(error: &dyn fmt::Display) {
    say("refused a connection", &error.to_string());
}
