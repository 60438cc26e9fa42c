//! The operators that return their result: layouts of operands, values, refusals.

mod forms;
mod layouts;
mod order;
mod plans;

use crate::common::on_each_device;
