package assay.bridge;

import java.util.List;
import java.util.Map;
import site.ycsb.DBException;

/**
 * A binding whose store can be managed: emptied, described, and given a note to keep.
 *
 * <p>YCSB's interface has none of it, so other bindings are asked for their six operations alone. One instance, which is
 * never initialised and asked for no operation, is kept for these calls; its properties are set before the first.
 */
public interface Tended {
  /**
   * What the native side has to know before the first operation.
   *
   * @return any of {@code name} (one word in small letters), {@code persistent}, {@code inline} ({@code true} or
   *     {@code false}) and {@code kinds} (of operations, separated by commas)
   */
  Map<String, String> traits();

  /** Makes these tables ready to be used; what is in them stays. */
  void prepare(List<String> tables) throws DBException;

  /** Removes every record, and the note. */
  void clear() throws DBException;

  /** The note that was kept, or null. */
  String note() throws DBException;

  /** Keeps a note beside the records. */
  void keepNote(String note) throws DBException;

  /** Names of settings that decide what figures mean, each with its value and its meaning in plain words. */
  Map<String, String[]> settings() throws DBException;

  /** Closes what {@link #prepare} has opened. */
  void close() throws DBException;
}
