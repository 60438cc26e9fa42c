//! One exchange, from the call to what came.

use core::time::Duration;
use std::{sync::mpsc::RecvTimeoutError, time::Instant};

use backend_api::CollectiveError;
use collective::Call;
use mpi::{
    Tag,
    point_to_point::MatchedReceiveVec as _,
    request,
    traits::{Communicator as _, Source as _},
};

use crate::{
    agent::{Agent, ExchangeOrder, IDLE, OwnRank, unreadable},
    flight::{Flight, Pause},
    wire::Arrival,
};

/// Extra time that a rank waits if it waits for several ranks.
///
/// One of them may itself wait for a single rank, and then names that rank.
const GRACE: Duration = Duration::from_secs(1);
/// That a rank has come to a call.
const ARRIVAL: Tag = 1;
/// The words of a call.
const WORDS: Tag = 2;

impl Agent<'_> {
    /// Makes an exchange and replies.
    pub(crate) fn exchange(&mut self, order: ExchangeOrder) {
        let ExchangeOrder { call, words, reply } = order;
        let answer = |came| {
            // Who asked waits for it.
            let (Ok(()) | Err(_)) = reply.send(came);
        };
        if let Some(why) = self.group.failure_of(self.completed) {
            return answer(Err(why));
        }
        let own = Arrival::new(&call, 0);
        let arrivals: Vec<_> =
            (0..self.place.ranks).map(|to| Arrival::new(&call, words.to(to).len()).encode()).collect();
        let world = self.world;
        let came = request::scope(|scope| {
            let mut flight = Flight::new(world, scope, ARRIVAL);
            self.others().for_each(|rank| flight.send(rank, &arrivals[rank]));
            let came = self.meet(own, &mut flight);
            if let Err(why) = &came {
                answer(Err(why.clone()));
                self.settle(&mut flight);
            }
            came
        });
        let Ok(lens) = came else { return };
        let mut received = match rooms(&lens) {
            Ok(rooms) => rooms,
            Err(why) => {
                self.group.fail(why.clone());
                return answer(Err(why));
            }
        };
        let done = request::scope(|scope| {
            let mut flight = Flight::new(world, scope, WORDS);
            received.iter_mut().enumerate().for_each(|(rank, room)| flight.receive(rank, room));
            self.others().for_each(|rank| flight.send(rank, words.to(rank)));
            let done = self.carry(&call, &mut flight);
            if let Err(why) = &done {
                answer(Err(why.clone()));
                self.settle(&mut flight);
            }
            done
        });
        if done.is_ok() {
            self.completed += 1;
            answer(Ok(received));
        }
    }

    /// Waits until all have come to the call, and returns how many words each will send.
    fn meet(&mut self, own: Arrival, flight: &mut Flight<'_, '_>) -> Result<Vec<u64>, CollectiveError> {
        let OwnRank { rank, ranks } = self.place;
        let said = own.said.clone();
        let mut arrivals: Vec<Option<Arrival>> = vec![None; ranks];
        arrivals[rank] = Some(own);
        let mut pause = Pause::new();
        let begin = Instant::now();
        loop {
            for from in (0..ranks).filter(|&from| arrivals[from].is_none()).collect::<Vec<_>>() {
                let process = self.world.process_at_rank(from as i32);
                // One at a time: the next is of the next call.
                if let Some(found) = process.immediate_matched_probe_with_tag(ARRIVAL) {
                    let (words, _) = found.matched_receive_vec::<u32>();
                    arrivals[from] = Some(Arrival::decode(&words).ok_or_else(|| self.fail(unreadable(from)))?);
                    pause.reset();
                }
            }
            flight.poll();
            if flight.is_done()
                && let Some(arrivals) = arrivals.iter().cloned().collect::<Option<Vec<_>>>()
            {
                return match disagreement(&arrivals) {
                    Some(why) => Err(self.fail(why)),
                    None => Ok(arrivals.iter().map(|arrival| arrival.words).collect()),
                };
            }
            let lacking: Vec<_> = (0..ranks).filter(|&rank| arrivals[rank].is_none()).chain(flight.ranks()).collect();
            self.check(&lacking, begin.elapsed(), &said)?;
            pause.wait();
        }
    }

    /// Waits until all words have come and gone.
    fn carry(&mut self, call: &Call, flight: &mut Flight<'_, '_>) -> Result<(), CollectiveError> {
        let said = call.to_string();
        let mut pause = Pause::new();
        loop {
            if flight.poll() {
                pause.reset();
            }
            if flight.is_done() {
                return Ok(());
            }
            self.check(&flight.ranks().collect::<Vec<_>>(), pause.elapsed(), &said)?;
            pause.wait();
        }
    }

    /// Whether the exchange at hand goes on, for which these ranks have been waited for so long.
    fn check(&mut self, lacking: &[usize], waited: Duration, said: &str) -> Result<(), CollectiveError> {
        self.listen();
        if let Some(why) = self.group.failure_of(self.completed) {
            return Err(why);
        }
        let is_gone = |rank: usize| self.left[rank].is_some_and(|completed| completed <= self.completed);
        if let Some(&rank) = lacking.iter().find(|&&rank| is_gone(rank)) {
            return Err(self.fail(CollectiveError::Gone { rank }));
        }
        let waits_for_one = lacking.iter().all(|rank| *rank == lacking[0]);
        let patience = if waits_for_one { self.patience } else { self.patience + GRACE };
        match lacking.first() {
            Some(&rank) if waited >= patience => {
                let (call, seconds) = (said.to_owned(), self.patience.as_secs());
                Err(self.fail(CollectiveError::Stalled { rank, call, seconds }))
            }
            _ => Ok(()),
        }
    }

    /// The group fails by this rank, and others are told.
    fn fail(&mut self, why: CollectiveError) -> CollectiveError {
        self.group.fail(why.clone());
        self.listen();
        self.group.failure_of(self.completed).unwrap_or(why)
    }

    /// Waits for the pending messages of a failed exchange, whose memory MPI holds.
    ///
    /// Other ranks may have to fail before they receive them.
    fn settle(&mut self, flight: &mut Flight<'_, '_>) {
        while !flight.is_done() {
            flight.poll();
            self.listen();
            match self.orders.recv_timeout(IDLE) {
                Ok(order) => self.refuse(&order),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.leave(Some(&mut *flight));
                    if !flight.is_done() {
                        self.hang();
                    }
                }
            }
        }
    }

    fn refuse(&self, order: &ExchangeOrder) {
        let ended = || CollectiveError::Transport("the previous exchange failed".to_owned());
        let why = self.group.failure_of(self.completed).unwrap_or_else(ended);
        let (Ok(()) | Err(_)) = order.reply.send(Err(why));
    }
}

/// The first rank that came with another call than rank 0.
fn disagreement(arrivals: &[Arrival]) -> Option<CollectiveError> {
    let rank = arrivals.iter().position(|arrival| arrival.call != arrivals[0].call)?;
    let (expected, got) = (arrivals[0].said.clone(), arrivals[rank].said.clone());
    Some(CollectiveError::Disagrees { rank, expected, got })
}

/// Zeroed buffers for the given number of words from each rank.
fn rooms(lens: &[u64]) -> Result<Vec<Vec<u32>>, CollectiveError> {
    let room = |&words: &u64| {
        let len = usize::try_from(words).ok()?;
        let mut room = Vec::new();
        room.try_reserve_exact(len).ok()?;
        room.resize(len, 0);
        Some(room)
    };
    let refused = |words| CollectiveError::Transport(format!("no memory for {words} words from another rank"));
    lens.iter().map(|words| room(words).ok_or_else(|| refused(*words))).collect()
}
