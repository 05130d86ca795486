import { encodeValues, type PlannedCommand } from './plan.ts';

/** For PowerShell 5 and newer. */
export function powershellScript(plan: readonly PlannedCommand[]): string {
  return `# Completion of gmn for PowerShell, made by: gmn completion powershell

# By command: its commands and its flags with what they mean, what its flags take, what its words are.
$script:GmnCommands = @{
${plan.map(formatPowerShellCommand).join('\n')}
}
${ENGINE}`;
}

function formatPowerShellCommand({ path, commands, flags, words, repeats }: PlannedCommand): string {
  const named = commands.map(({ name, summary }) => `${quotePowerShell(name)} = ${quotePowerShell(summary)}`);
  const helped = flags.flatMap(({ names, help }) =>
    names.map((name) => `${quotePowerShell(name)} = ${quotePowerShell(help)}`),
  );
  const taken = flags.flatMap(({ names, values }) =>
    values === undefined
      ? []
      : names.map((name) => `${quotePowerShell(name)} = ${quotePowerShell(encodeValues(values))}`),
  );
  return `  ${quotePowerShell(path)} = @{
    commands = ${formatHash(named)}
    flags = ${formatHash(helped)}
    takes = ${formatHash(taken)}
    words = @(${words.map((values) => quotePowerShell(encodeValues(values))).join(', ')})
    repeats = $${repeats}
  }`;
}

/** Ordered and case-sensitive: -c and -C are two flags. */
function formatHash(pairs: readonly string[]): string {
  return `(& { $table = [Collections.Specialized.OrderedDictionary]::new([StringComparer]::Ordinal); ${pairs
    .map((pair) => `$table[${pair.replace(' = ', '] = ')};`)
    .join(' ')} , $table })`;
}

function quotePowerShell(text: string): string {
  // PowerShell treats curly quotes as straight ones.
  return `'${text.replace(/['‘’‚‛]/g, '$&$&')}'`;
}

const ENGINE = String.raw`
# What the last of the letters in $Word (-qm) takes from the next word.
function script:Get-GmnLetters($Takes, [string]$Word) {
  for ($index = 1; $index -lt $Word.Length; $index++) {
    $value = $Takes["-$($Word[$index])"]
    if ($value) { if ($index -eq $Word.Length - 1) { return $value } else { return $null } }
  }
}

# What the word of a command is that has this number.
function script:Get-GmnWord($Here, [int]$Number) {
  if ($Here.repeats) { $Number = [Math]::Min($Number, $Here.words.Count - 1) }
  if ($Number -lt $Here.words.Count) { $Here.words[$Number] } else { 'free' }
}

# Offers what $What says may stand where $Typed is; $Head is the flag before it, as in --flag=value, $Before the word.
function script:Get-GmnValues([string]$What, [string]$Typed, [string]$Head, [string]$Before) {
  $pairs = @()
  if ($What.StartsWith('words:')) { $pairs = $What.Substring(6).Split(' ') | ForEach-Object { , @($_, $_) } }
  elseif ($What.StartsWith('ask:')) {
    $pairs = & gmn __complete $What.Substring(4) $Before 2>$null | ForEach-Object { , ($_ -split [char]9, 2) }
  }
  elseif ($What -eq 'files' -or $What -eq 'directories') {
    foreach ($found in [Management.Automation.CompletionCompleters]::CompleteFilename($Typed)) {
      if ($What -eq 'directories' -and $found.ResultType -ne 'ProviderContainer') { continue }
      [Management.Automation.CompletionResult]::new($Head + $found.CompletionText, $found.ListItemText, $found.ResultType, $found.ToolTip)
    }
  }
  foreach ($pair in $pairs) { New-GmnResult $pair[0] $pair[1] $Typed $Head }
  # A template may be a file, too.
  if ($What -eq 'ask:templates') { Get-GmnValues 'files' $Typed $Head '' }
}

function script:New-GmnResult([string]$Value, [string]$Help, [string]$Typed, [string]$Head) {
  $plain = $Typed.Trim([char]39, [char]34)
  if (-not $Value.StartsWith($plain, [StringComparison]::Ordinal)) { return }
  if (-not $Help) { $Help = $Value }
  $text = $Value
  if ($Value -match '[^\w./=-]' -or $Value.StartsWith('@')) {
    $text = [char]39 + [Management.Automation.Language.CodeGeneration]::EscapeSingleQuotedStringContent($Value) + [char]39
  }
  [Management.Automation.CompletionResult]::new($Head + $text, $Value, 'ParameterValue', $Help)
}

Register-ArgumentCompleter -Native -CommandName gmn -ScriptBlock {
  param($wordToComplete, $commandAst, $cursorPosition)
  $before = @($commandAst.CommandElements | Where-Object { $_.Extent.EndOffset -lt $cursorPosition -or ($_.Extent.EndOffset -eq $cursorPosition -and -not $wordToComplete) })
  $at = 'gmn'
  $pending = $null
  $count = 0
  $last = ''
  foreach ($element in ($before | Select-Object -Skip 1)) {
    $word = if ($element -is [Management.Automation.Language.StringConstantExpressionAst]) { $element.Value } else { $element.Extent.Text }
    $here = $script:GmnCommands[$at]
    if ($pending) { $pending = $null }
    elseif ($word -ceq '--') { return }
    elseif ($word -match '^--.*=') { }
    elseif ($word -match '^--') { $pending = $here.takes[$word] }
    elseif ($word -match '^-.') { $pending = Get-GmnLetters $here.takes $word }
    elseif ($count -eq 0 -and $here.commands.Contains($word)) { $at = "$at $word" }
    else {
      $count++
      $last = $word
      # What follows is for the program of this name.
      if ((Get-GmnWord $here $count) -eq 'rest' -and $word -notmatch '^https?://') { return Get-GmnValues 'files' $wordToComplete '' }
    }
  }
  $here = $script:GmnCommands[$at]
  if ($pending) { return Get-GmnValues $pending $wordToComplete '' }
  if ($wordToComplete -match '^(--[^=]+)=(.*)$') {
    $takes = $here.takes[$Matches[1]]
    if ($takes) { return Get-GmnValues $takes $Matches[2] "$($Matches[1])=" }
    return
  }
  if ($wordToComplete.StartsWith('-')) {
    foreach ($name in $here.flags.Keys) { New-GmnResult $name $here.flags[$name] $wordToComplete '' }
    return
  }
  if ($count -eq 0) { foreach ($name in $here.commands.Keys) { New-GmnResult $name $here.commands[$name] $wordToComplete '' } }
  Get-GmnValues (Get-GmnWord $here $count) $wordToComplete '' $last
}
`;
