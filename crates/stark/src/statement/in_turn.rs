//! The work of several clients, one piece of each in turn.

use core::fmt;
use std::collections::VecDeque;

/// Whose piece of work it is, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The client, counted from 0.
    pub client: usize,
    /// The index within the client's pieces, counted from 0.
    pub number: usize,
}

/// Pieces of work of several clients, one of each in turn: see [`in_turn`].
pub struct InTurn<T> {
    /// Clients that may have more, with their next tickets. The next is the first.
    waiting: VecDeque<(Ticket, T)>,
}

/// Takes one piece of work of each client in turn, while it has any.
///
/// A client with thousands of pieces delays the others by at most one piece. All traces of a
/// statement take equal time to prove, so each client gets its share of the devices that
/// [`ManyProofs`](crate::ManyProofs) distributes them to. With [`Jobs`](crate::Jobs) of other
/// lengths, each client gets an equal number of jobs. An iterator that blocks delays all clients;
/// one that has ended is not polled again.
///
/// ```
/// use stark::{Ticket, in_turn};
///
/// let order: Vec<_> = in_turn([vec!['a', 'b', 'c'], vec!['x']]).collect();
/// let ticket = |client, number| Ticket { client, number };
/// assert_eq!(order, [(ticket(0, 0), 'a'), (ticket(1, 0), 'x'), (ticket(0, 1), 'b'), (ticket(0, 2), 'c')]);
/// ```
pub fn in_turn<C: IntoIterator>(clients: impl IntoIterator<Item = C>) -> InTurn<C::IntoIter> {
    let clients = clients.into_iter().enumerate();
    InTurn { waiting: clients.map(|(client, work)| (Ticket { client, number: 0 }, work.into_iter())).collect() }
}

impl<T: Iterator> Iterator for InTurn<T> {
    type Item = (Ticket, T::Item);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (ticket, mut work) = self.waiting.pop_front()?;
            if let Some(piece) = work.next() {
                self.waiting.push_back((Ticket { number: ticket.number + 1, ..ticket }, work));
                return Some((ticket, piece));
            }
        }
    }
}

impl<T> fmt::Debug for InTurn<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InTurn").field("waiting", &self.waiting.len()).finish()
    }
}
