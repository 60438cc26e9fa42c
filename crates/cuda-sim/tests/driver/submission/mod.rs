//! Submitted work: streams, captures, graphs, and host sequences that go wrong.

mod capture;
mod graphs;
mod hazards;
mod nodes;
mod streams;
