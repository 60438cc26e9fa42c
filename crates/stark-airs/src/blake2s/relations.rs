//! The relations between the components.

use core_types::air::Relation;

/// A number of bits, two numbers of that width, and their exclusive or.
///
/// Rows use them, tables yield them.
pub(super) const XORS: Relation = Relation::new(0, 4);

/// A key and the 16 words of a state, as halves.
///
/// The round that takes the state uses them; the round that makes it yields them.
pub(super) const STATES: Relation = Relation::new(4, 33);

/// A key and the 16 words of a message in the order of a round, as halves.
///
/// The round uses them; its compression yields them.
pub(super) const MESSAGES: Relation = Relation::new(37, 33);

/// The index of a block and the chaining value before it, as halves.
pub(super) const CHAIN: Relation = Relation::new(70, 17);

/// All of them, in the order of their slots.
pub(super) const ALL: [Relation; 4] = [XORS, STATES, MESSAGES, CHAIN];

/// Number of keys of a compression's states and messages.
///
/// A key is the compression's index times this number, plus the number of rounds before.
pub(super) const KEYS: u32 = 16;
