//! Transforms of columns that are sharded among several ranks.

mod columns;
mod cross;
mod lde;
mod plan;
mod twiddles;

use backend_api::{Collective, Queue, Ranks};

pub use columns::ShardedColumns;
pub use lde::ShardedLdePlan;
pub use plan::ShardedCfftPlan;
pub use twiddles::ShardTwiddles;

use crate::{FftError, Group, Shard, shape::check_sizes};

/// Refuses columns that do not match the plan, and a group that does not match the shard.
///
/// Columns do not match if their shard or their number differs. The group does not match if this
/// rank has another place in it.
fn check(ranks: &impl Ranks, shard: &Shard, columns: u32, got: (&Shard, u32)) -> Result<(), FftError> {
    if (ranks.rank(), ranks.ranks()) != (shard.rank(), shard.ranks()) {
        return Err(FftError::Group { expected: shard.to_string(), rank: ranks.rank(), ranks: ranks.ranks() });
    }
    if got.0 != shard {
        return Err(FftError::Shard { expected: shard.to_string(), got: got.0.to_string() });
    }
    let [expected, got] = [columns, got.1].map(|columns| [Group::alone(shard.domain(), columns)]);
    check_sizes(&expected, &got)
}

/// Ends the group if the device of this rank failed, so that others do not wait for it.
fn or_end<Q: Queue, V>(ranks: &impl Collective<Q>, done: Result<V, FftError>) -> Result<V, FftError> {
    if let Err(FftError::Backend(_)) = &done {
        ranks.give_up();
    }
    done
}
