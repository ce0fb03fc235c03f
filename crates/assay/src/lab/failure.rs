//! The code that a command ends with when a lab could not do something.

use std::io::ErrorKind;

use assay_lab::LabError;

use crate::exit::{Exit, Failure, NotInstalled};

/// The code that fits.
pub fn exit(error: &LabError) -> Exit {
    match error {
        LabError::Order(_) => Exit::Usage,
        LabError::State(_) => Exit::Undone,
        LabError::Missing(_)
        | LabError::NotInstalled(_)
        | LabError::Died(_)
        | LabError::Failed(_) => Exit::Unreachable,
        LabError::Stopped => Exit::Interrupted,
        // A folder without write permission was named by the user.
        LabError::Io { error, .. } => match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::NotADirectory | ErrorKind::NotFound => {
                Exit::Usage
            }
            _ => Exit::Internal,
        },
    }
}

/// The error of a command.
pub fn from_lab(error: &LabError) -> anyhow::Error {
    match error {
        LabError::NotInstalled(text) => NotInstalled(text.clone()).into(),
        _ => Failure { exit: exit(error), message: error.to_string() }.into(),
    }
}

/// The error of a command, from a code that came as a number.
pub fn from_code(text: String, code: u8) -> anyhow::Error {
    let known = [Exit::Usage, Exit::Unreachable, Exit::Undone, Exit::Interrupted];
    let exit = known.into_iter().find(|exit| *exit as u8 == code).unwrap_or(Exit::Internal);
    Failure { exit, message: text }.into()
}
