//! Super-batches: the same shares however jobs are grouped, cut and streamed, limits and budgets that hold, planners,
//! and nothing but errors where something fails.

mod budgets;
mod common;
mod counts;
mod executor;
mod faults;
mod lifecycle;
mod measured;
mod sharing;
