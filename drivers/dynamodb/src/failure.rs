//! Failures of DynamoDB, or of the connection to it, as outcomes of requests.

use std::error::Error;

pub(super) use assay_driver_kit::task::JobFailure as Failure;
use assay_model::Reason;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

/// The code of an update whose condition did not hold: there is no such record.
pub(super) const CONDITION_FAILED: &str = "ConditionalCheckFailedException";

/// The code of a table that is not there.
pub(super) const NO_TABLE: &str = "ResourceNotFoundException";

/// The codes of errors that certainly refuse, by what they mean. Source: "Error handling with
/// DynamoDB", and the service's model for what is left out there.
const REFUSALS: &[(Reason, &[&str])] = &[
    (
        Reason::Busy,
        &[
            "ProvisionedThroughputExceededException",
            "ThrottlingException",
            "Throttling",
            "RequestLimitExceeded",
            "LimitExceededException",
            "ResourceInUseException",
            "ReplicatedWriteConflictException",
        ],
    ),
    (Reason::Conflict, &["TransactionConflictException", CONDITION_FAILED]),
    (Reason::Full, &["ItemCollectionSizeLimitExceededException"]),
    (
        Reason::NotPermitted,
        &[
            "AccessDeniedException",
            "ExpiredTokenException",
            "IncompleteSignatureException",
            "InvalidSignatureException",
            "MissingAuthenticationTokenException",
            "MissingAuthenticationToken",
            "UnrecognizedClientException",
        ],
    ),
    (
        Reason::Malformed,
        &["ValidationException", "SerializationException", NO_TABLE, "TableNotFoundException"],
    ),
    (Reason::Unsupported, &["UnknownOperationException"]),
];

/// Codes that mean that the request is not permitted.
pub(super) fn is_not_permitted(code: &str) -> bool {
    reason(code) == Some(Reason::NotPermitted)
}

fn reason(code: &str) -> Option<Reason> {
    REFUSALS.iter().find(|(_, codes)| codes.contains(&code)).map(|(reason, _)| *reason)
}

/// What an answer with this status and code means. An answer without a code is not DynamoDB's.
fn of_service(status: u16, code: Option<&str>) -> Failure {
    match code {
        Some(code) => match reason(code) {
            Some(reason) => Failure::refused(reason),
            None if (400..500).contains(&status) => Failure::refused(Reason::StoreError),
            None => Failure::unknown(Reason::StoreError),
        },
        // A proxy in front of the service did not reach it, or got no response.
        None if status >= 500 => Failure::unknown(Reason::StoreError),
        None => Failure::GARBLED,
    }
}

/// Whether the connection could not be made.
pub(super) fn is_unconnected(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<hyper_util::client::legacy::Error>() {
            return error.is_connect();
        }
        next = error.source();
    }
    false
}

/// What `error` means for a request that was to be sent.
pub(super) fn failure<E: ProvideErrorMetadata + Error + 'static>(error: &SdkError<E>) -> Failure {
    match error {
        SdkError::ServiceError(reported) => {
            of_service(reported.raw().status().as_u16(), reported.err().code())
        }
        SdkError::ConstructionFailure(_) => Failure::refused(Reason::Malformed),
        SdkError::DispatchFailure(_) if is_unconnected(error) => Failure::UNREACHABLE,
        SdkError::DispatchFailure(reported) if reported.is_user() => {
            Failure::refused(Reason::Malformed)
        }
        SdkError::DispatchFailure(_) => Failure::LOST,
        SdkError::TimeoutError(_) => Failure::unknown(Reason::Timeout),
        SdkError::ResponseError(_) => Failure::GARBLED,
        // The library may get new kinds of errors.
        _ => Failure::LOST,
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::config::http::HttpResponse;
    use aws_sdk_dynamodb::error::{ConnectorError, ErrorMetadata};
    use aws_sdk_dynamodb::operation::put_item::PutItemError;

    use super::*;

    fn describe(status: u16, code: Option<&str>) -> Failure {
        let mut metadata = ErrorMetadata::builder();
        if let Some(code) = code {
            metadata = metadata.code(code);
        }
        let error = PutItemError::generic(metadata.build());
        let status = status.try_into().unwrap();
        let response = HttpResponse::new(status, "".into());
        failure(&SdkError::service_error(error, response))
    }

    #[test]
    fn an_error_of_the_service_means_what_the_table_says() {
        for (code, reason) in [
            ("ProvisionedThroughputExceededException", Reason::Busy),
            ("ThrottlingException", Reason::Busy),
            ("RequestLimitExceeded", Reason::Busy),
            ("ResourceInUseException", Reason::Busy),
            ("ConditionalCheckFailedException", Reason::Conflict),
            ("TransactionConflictException", Reason::Conflict),
            ("ItemCollectionSizeLimitExceededException", Reason::Full),
            ("UnrecognizedClientException", Reason::NotPermitted),
            ("AccessDeniedException", Reason::NotPermitted),
            ("ValidationException", Reason::Malformed),
            ("ResourceNotFoundException", Reason::Malformed),
            ("UnknownOperationException", Reason::Unsupported),
            ("SomethingNewException", Reason::StoreError),
        ] {
            assert_eq!(describe(400, Some(code)), Failure::refused(reason), "{code}");
        }
    }

    #[test]
    fn a_service_that_fails_leaves_it_open() {
        for (status, code) in
            [(500, Some("InternalServerError")), (503, Some("ServiceUnavailable")), (502, None)]
        {
            assert_eq!(describe(status, code), Failure::unknown(Reason::StoreError), "{status}");
        }
    }

    #[test]
    fn throttling_is_certain_whatever_its_status() {
        assert_eq!(describe(503, Some("ThrottlingException")), Failure::refused(Reason::Busy));
    }

    #[test]
    fn an_answer_without_a_code_is_not_of_dynamodb() {
        assert_eq!(describe(404, None), Failure::GARBLED);
        assert_eq!(describe(301, None), Failure::GARBLED);
    }

    #[test]
    fn what_the_connection_does_is_distinguished() {
        let broken = || std::io::Error::from(std::io::ErrorKind::ConnectionReset).into();
        let of = |error| failure(&SdkError::<PutItemError>::dispatch_failure(error));
        assert_eq!(of(ConnectorError::io(broken())), Failure::LOST);
        assert_eq!(of(ConnectorError::other(broken(), None)), Failure::LOST);
        assert_eq!(
            of(ConnectorError::user("no such URI".into())),
            Failure::refused(Reason::Malformed)
        );
        let timeout = SdkError::<PutItemError>::timeout_error("too long");
        assert_eq!(failure(&timeout), Failure::unknown(Reason::Timeout));
        let unbuilt = SdkError::<PutItemError>::construction_failure("no table");
        assert_eq!(failure(&unbuilt), Failure::refused(Reason::Malformed));
    }
}
