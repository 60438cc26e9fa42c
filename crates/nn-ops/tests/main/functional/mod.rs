//! The operators that return their result: layouts of operands, values, refusals.

mod forms;
mod layouts;

use crate::common::on_each_device;
