package assay.bridge;

import site.ycsb.Status;

/** The completion of an operation, as a code that the native side knows. */
final class Codes {
  static final int OK = 0;
  static final int NOT_FOUND = 1;
  static final int ERROR = 2;
  static final int NOT_IMPLEMENTED = 3;
  static final int UNEXPECTED_STATE = 4;
  static final int BAD_REQUEST = 5;
  static final int FORBIDDEN = 6;
  static final int SERVICE_UNAVAILABLE = 7;
  static final int BATCHED_OK = 8;
  /** A status of the binding's own. */
  static final int OTHER = 9;
  /** The status {@code FULL}, with which our own bindings report a full store. */
  static final int FULL = 10;
  /** No status at all. */
  static final int NOTHING = 11;
  static final int THROWN = 12;
  static final int OUT_OF_MEMORY = 13;
  /** The result that came with the status cannot be encoded. */
  static final int GARBLED = 14;

  private Codes() {}

  static int of(Status status) {
    if (status == Status.OK) {
      return OK;
    }
    if (status == null) {
      return NOTHING;
    }
    // By name: a binding may make a status again instead of taking YCSB's own.
    return switch (status.getName()) {
      case "OK" -> OK;
      case "NOT_FOUND" -> NOT_FOUND;
      case "ERROR" -> ERROR;
      case "NOT_IMPLEMENTED" -> NOT_IMPLEMENTED;
      case "UNEXPECTED_STATE" -> UNEXPECTED_STATE;
      case "BAD_REQUEST" -> BAD_REQUEST;
      case "FORBIDDEN" -> FORBIDDEN;
      case "SERVICE_UNAVAILABLE" -> SERVICE_UNAVAILABLE;
      case "BATCHED_OK" -> BATCHED_OK;
      case "FULL" -> FULL;
      default -> OTHER;
    };
  }
}
